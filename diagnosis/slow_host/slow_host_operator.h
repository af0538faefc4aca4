// Names a host that is slow as a whole, in ways that the comparison of its ranks with their peers
// cannot show: its ranks are all of a pipeline stage, half of a role, or slow in rotation. Names a
// rank without peers as well. Claim, evidence and silence: README.md beside this file.
#pragma once

#include <optional>
#include <span>

#include "diagnosis/operator.h"
#include "diagnosis/slow_host/device_change.h"
#include "diagnosis/slow_host/host_device.h"
#include "diagnosis/slow_host/host_function.h"
#include "diagnosis/slow_host/slow_copies.h"

namespace eroica {

struct SlowHostOptions {
  uint32_t min_steps = 3;   // fewer show no persistence
  double min_share = 0.03;  // of a step
  // of all kernels of a host: hosts of one kind differ by less than their devices do; and of a
  // step, on its slowest rank
  double min_growth = 0.02;
  double min_growth_alone = 0.03;  // of one device
  // ranks without peers: of two or three stages nobody can say which is the odd one
  size_t fewest_alone = 4;
  double min_separation = 6;  // growth over what ranks elsewhere differ by
  // of the growth, that what works on parameters shows where the device is slow
  double min_of_parameters = 0.5;
  // of its ranks, that show half of it: power limits make devices pause in rotation
  uint32_t fewest_pausing = 3;
  double min_ranks = 0.5;       // of the host that show half of it: one slow device is no slow host
  double min_ranks_seen = 0.5;  // of the world
};

class SlowHostOperator final : public DiagnosisOperator {
 public:
  explicit SlowHostOperator(SlowHostOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "slow_host"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  void EvaluateHosts(const CrossRankView& view, std::vector<Finding>& findings) const;
  void EvaluateLoneRanks(const CrossRankView& view, std::vector<Finding>& findings) const;
  void EvaluateChanges(const CrossRankView& view, std::vector<Finding>& findings) const;
  bool HasSlowed(const HostRanks& ranks, const DeviceChange& change) const;
  bool IsSlow(const CrossRankView& view, const HostRanks& host, const HostDevices& devices) const;
  // What works on parameters, too: no heavier stage does that. Nothing where none is seen.
  std::optional<bool> SlowsParameters(const HostDevices& devices) const;
  Finding Describe(const CrossRankView& view, const HostRanks& host,
                   const HostDevices& devices) const;
  Finding Describe(const CrossRankView& view, const Place& place, const DeviceChange& change) const;
  Finding Describe(const CrossRankView& view, const HostRanks& host,
                   const HostFunction& function) const;
  Finding Describe(const CrossRankView& view, const HostRanks& alone,
                   const SlowCopies& copies) const;

  SlowHostOptions options_;
};

}  // namespace eroica
