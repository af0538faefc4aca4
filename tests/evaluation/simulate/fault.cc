#include "tests/evaluation/simulate/fault.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace eroica::simulate {
namespace {

// In the order of FaultKind.
constexpr std::array<std::string_view, kFaultKindCount> kNames = {
    "gpu_slow",
    "thermal_throttling",
    "power_throttling",
    "ecc_retries",
    "gpu_shared",
    "memory_slow",
    "memory_fragmentation",
    "nic_slow",
    "nic_send_slow",
    "nic_receive_slow",
    "nic_flapping",
    "nic_down",
    "bond_degraded",
    "link_slow",
    "switch_slow",
    "congested_path",
    "nvlink_slow",
    "nvlink_down",
    "pcie_downgrade",
    "network_slow_everywhere",
    "nccl_setting",
    "storage_slow",
    "storage_slow_everywhere",
    "data_loader_slow",
    "pin_memory",
    "garbage_collection",
    "gil_contention",
    "cpu_stolen",
    "cpu_bound_forward",
    "code_regression",
    "slow_function",
    "sequence_imbalance",
    "varying_lengths",
    "stage_imbalance",
    "expert_imbalance",
    "collective_mismatch",
    "host_hang",
    "communication_hang",
    "rank_dies",
    "telemetry_loss",
    "transient_spike",
};
static_assert(!kNames.back().empty(), "a kind has no name");
static_assert(kNames[static_cast<size_t>(FaultKind::kNetworkSlowEverywhere)] ==
              "network_slow_everywhere");
static_assert(kNames[static_cast<size_t>(FaultKind::kSequenceImbalance)] == "sequence_imbalance");

}  // namespace

std::string_view ToString(FaultKind kind) {
  const auto number = static_cast<size_t>(kind);
  return number < kNames.size() ? kNames[number] : "unknown";
}

std::optional<FaultKind> ParseFaultKind(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<FaultKind>(std::distance(kNames.begin(), found));
}

}  // namespace eroica::simulate
