// Why kernels take longer at one place than at others: a table of causes, and what each of them
// does to what is measured of kernels. The place may be a rank, a host, a pipeline stage, or what
// it was before.
// - What arithmetic bounds goes with the device's clock, what memory bounds hardly does (roofline:
//   Williams et al., CACM'09).
// - A device that somebody else uses too is slower in everything, at its usual clock (EROICA,
//   NSDI'26, appendix B).
// - One that pauses now and then runs most calls as fast as ever, and some much longer.
// - Longer inputs lengthen what works on them, and nothing that works on parameters (EROICA, case
//   study 2, problem 4).
// - More layers are more calls, each as long as before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnosis/hypotheses/kernel_growths.h"
#include "diagnosis/hypotheses/signature.h"

namespace eroica {

enum class DeviceCause : uint8_t {
  kLowClock = 0,
  kSlowMemory = 1,
  kShared = 2,
  kPauses = 3,
  kMoreData = 4,
  kMoreLayers = 5,
};
inline constexpr size_t kDeviceCauseCount = 6;

enum class KernelMeasurement : uint8_t {
  kCompute = 0,     // mean call of the typical kernel on data that arithmetic bounds
  kMemory = 1,      // the same of those that memory bounds
  kParameters = 2,  // the same of those that work on parameters
  kTypical = 3,     // typical call of the kernels on data
  kCalls = 4,       // number of calls of kernels on data
  kClock = 5,  // usual / own - 1 of the SM's clock and use: how much longer it alone would make
  kLinks = 6,  // time that the place's connections take for a byte
};
inline constexpr size_t kKernelMeasurementCount = 7;

// Of a clock that differs from the usual one by something between the two: own / usual - 1, with a
// standard error.
Change ClockChangeBetween(double lowest, double highest, double error);

// Nothing where it was not measured.
struct KernelChanges {
  std::array<std::optional<Change>, kKernelMeasurementCount> of;
  // Of the steps, those in which the place is slow. What comes and goes may leave the typical call
  // as it is; where nothing is known of it, inputs may come and go, and devices do not.
  std::optional<double> slow_share;

  std::optional<Change>& operator[](KernelMeasurement which) {
    return of[static_cast<size_t>(which)];
  }
  const std::optional<Change>& operator[](KernelMeasurement which) const {
    return of[static_cast<size_t>(which)];
  }
};

// What kernels show of a place, each with this error.
KernelChanges ChangesOf(const KernelGrowths& growths, double error);

// The probability of each cause. Before anything was measured all are equally likely, and "none of
// these" less (kOddsOfNone, deciding_numbers.h); device_odds: those of the device by so much less,
// where the place is many devices that share no host. Where calls were not counted nothing is said
// of layers.
class DeviceCauses {
 public:
  explicit DeviceCauses(const KernelChanges& changes, double device_odds = 1);

  double probability(DeviceCause cause) const { return of_[static_cast<size_t>(cause)]; }
  // That it is the device, whatever is wrong with it; or that there is more to do.
  double of_device() const;
  double of_more_work() const;
  // The one that is named (kDecisive, deciding_numbers.h); nothing where it is undecided between
  // several, or none of them.
  std::optional<DeviceCause> decided() const;
  // Those of the device that it is undecided between, likeliest first: each at least a tenth as
  // likely as all of them together.
  std::vector<DeviceCause> of_device_undecided() const;
  bool is_device() const;
  bool is_more_work() const;

 private:
  std::array<double, kDeviceCauseCount> of_{};
};

}  // namespace eroica
