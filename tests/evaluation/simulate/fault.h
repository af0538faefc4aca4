// Something wrong with a job: what, where, when, how badly. What a fault does to a rank in a step
// is said by fault_plan.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/evaluation/simulate/fault_shape.h"

namespace eroica::simulate {

// One enumerator a case of the library; names in scenario files are those of ToString. Sources are
// said beside each in fault_library.cc.
enum class FaultKind : uint8_t {
  // The device
  kGpuSlow,            // Holmes: kernels of a rank take longer, its clock is lower
  kThermalThrottling,  // the same on a host's ranks, rising and falling over steps
  kPowerThrottling,    // EROICA CS4-P1: pulses of 100 us to 10 ms at a part of the clock
  kEccRetries,         // short pauses of the device at random
  // EROICA CS5: another process on the device; everything a little longer at equal clock
  kGpuShared,
  kMemorySlow,  // the device's memory at a part of its speed: what it bounds takes longer
  // allocator retries: cudaFree and cudaMalloc between kernels, in some steps
  kMemoryFragmentation,
  // The network
  kNicSlow,         // Holmes, C4D: one NIC at a part of its speed, both directions
  kNicSendSlow,     // C4D: hot row
  kNicReceiveSlow,  // C4D: hot column
  kNicFlapping,     // down to a tenth in some steps
  kNicDown,         // EROICA CS2-P2: traffic over a neighbor's NIC
  kBondDegraded,    // EROICA 6.1: one of a pair of bonded NICs lost
  kLinkSlow,        // C4D: hot cell, the path between two hosts
  kSwitchSlow,      // Holmes: all hosts of a rack
  kCongestedPath,   // Holmes: a rack's way out, in some steps
  kNvlinkSlow,
  kNvlinkDown,             // EROICA CS4-P2: all traffic of a rank over PCIe
  kPcieDowngrade,          // copies to and from the device take longer
  kNetworkSlowEverywhere,  // EROICA CS2-P1: no affinity in flow scheduling
  kNcclSetting,  // a wrong setting on one rank: its collectives move at a part of the speed
  // The host
  kStorageSlow,  // EROICA CS1-P1: recv_into, on the ranks of one host
  kStorageSlowEverywhere,
  kDataLoaderSlow,     // one rank's loader
  kPinMemory,          // EROICA CS2-P3
  kGarbageCollection,  // EROICA CS1-P3: pauses at random on every rank
  kGilContention,  // another thread holds the interpreter lock: all host work of a rank is longer
  kCpuStolen,      // another process on the host: likewise for all its ranks
  // The code
  kCpuBoundForward,  // EROICA CS1-P2: Python in forward, all ranks
  kCodeRegression,   // a change that slows a kernel on all ranks, from a step on
  kSlowFunction,     // one rank runs a function that the others do not
  // The load
  kSequenceImbalance,  // EROICA CS2-P4
  kVaryingLengths,     // micro-batches of unequal length everywhere, other ones each step
  kStageImbalance,
  kExpertImbalance,
  // Hangs
  // EROICA CS3, desynchronised collectives: one rank enters another collective
  kCollectiveMismatch,
  kHostHang,           // C4D non-communication hang: one rank never launches
  kCommunicationHang,  // C4D communication hang: all launched, a transfer stands still
  kRankDies,           // silently
  // No fault of the job's speed
  kTelemetryLoss,   // some ranks' batches are lost
  kTransientSpike,  // one rank is slow in a few scattered steps, and well again
};
inline constexpr int kFaultKindCount = static_cast<int>(FaultKind::kTransientSpike) + 1;
std::string_view ToString(FaultKind kind);
std::optional<FaultKind> ParseFaultKind(std::string_view name);

struct Fault {
  FaultKind kind = FaultKind::kGpuSlow;
  std::vector<uint32_t> ranks;  // whom it strikes; of host and rack faults all ranks there
  int32_t peer_rank = -1;       // of a link: a rank of the other host
  double severity = 0.2;        // what it means differs: FaultDescription::severity
  uint32_t first_step = 0;
  uint32_t last_step = std::numeric_limits<uint32_t>::max();  // inclusive
  double duty = 1;  // share of the steps between in which it shows
  FaultShape shape;
};

}  // namespace eroica::simulate
