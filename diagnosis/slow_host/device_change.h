// By how much single calls of kernels have become longer on the devices of a place that has no
// peers, while on other places they have not. Pipeline stages see the same data, so that what
// changes on one of them alone is its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/hypotheses/device_cause.h"
#include "diagnosis/hypotheses/kernel_growths.h"
#include "diagnosis/measurements/device_calls.h"

namespace eroica {

struct DeviceChange {
  // now / then - 1 of one call's mean duration, or of that against other places', whichever is
  // less: two thirds of the kernel time grew by so much
  double growth = 0;
  double typical = 0;    // the same of the median call
  double elsewhere = 0;  // by how much other places have changed, up or down
  // by how much a window differs from the next one at random: of the typical place, over the past
  double noise = 0;
  // of the SM clock and use, the lesser fall likewise; nothing where it is not sampled
  std::optional<double> clock_growth;
  double clock_noise = 0;  // by how much it has changed elsewhere
  KernelGrowths by_bound;  // of the mean call
  double kernel_ns = 0;    // a step, in these kernels
  uint32_t kernels = 0;
  uint64_t windows = 0;                                                   // of the past
  double excess_ns() const { return kernel_ns * growth / (1 + growth); }  // a step
  // For hypotheses/device_cause.h.
  KernelChanges changes() const;
};

// Of each place, against the windows of the past in which its devices were fastest, an eighth of
// them left out; nothing where its kernels were not seen before.
// `past`: only windows of the same processes count.
std::vector<std::optional<DeviceChange>> CompareWithPast(const CrossRankView& view,
                                                         std::span<const Place> places,
                                                         std::span<const RankTimes> past);

}  // namespace eroica
