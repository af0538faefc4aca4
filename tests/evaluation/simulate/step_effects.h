// What is wrong with one rank in one step, and what differs there for good reasons: what the
// simulation asks before it runs the step. The meeting point of the fault library, which writes it,
// and the simulation, which knows no fault by name.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace eroica::simulate {

// Where in a step something happens.
enum class Phase : uint8_t {
  kData = 0,
  kForward = 1,
  kBackward = 2,
  kGradients = 3,
  kOptimizer = 4,
  kStepEnd = 5
};
inline constexpr int kPhaseCount = 6;

// What kernels stress, so that a fault can strike some of them.
enum class KernelKind : uint8_t {
  kMatrix = 0,
  kAttention = 1,
  kElementwise = 2,
  kExpertMatrix = 3,
  kEmbedding = 4,
  kOptimizer = 5,
  kCopy = 6
};
inline constexpr int kKernelKindCount = 7;

// A factor in units of 2^-16: integers, so that every machine computes the same.
using Factor = uint32_t;
inline constexpr Factor kUnit = 1u << 16;
constexpr Factor ToFactor(double value) { return static_cast<Factor>(value * kUnit + 0.5); }
constexpr int64_t Scale(int64_t duration_ns, Factor factor) {
  return (duration_ns * static_cast<int64_t>(factor)) >> 16;
}

// The training thread runs a function that is no part of the program, where the phase's work begins
// (its first in the step), inside its frames.
struct HostInsertion {
  Phase phase = Phase::kData;
  uint32_t function = 0;  // of the function catalog
  int64_t duration_ns = 0;
};

// The device pauses or crawls at random moments.
struct DevicePulses {
  uint32_t per_million_kernels = 0;  // probability that one strikes a kernel
  int64_t duration_ns = 0;           // that it adds
  // of kernels from one to the next, on the mean; 0: per_million_kernels says how many there are
  int64_t period_ns = 0;
  bool of_clock = false;  // they slow what the clock bounds; else all stands still
};

enum class Stop : uint8_t {
  kNone = 0,
  kHostHangs,  // the training thread never leaves `stop_function`, at the beginning of stop_phase
  kWrongCollective,  // from stop_phase on the rank enters another collective than its peers
  kTransferHangs,    // its next collective in stop_phase starts, and moves nothing
  kDies,             // the process is gone: neither work nor telemetry
};

struct StepEffects {
  std::array<Factor, kKernelKindCount> kernel = {kUnit, kUnit, kUnit, kUnit,
                                                 kUnit, kUnit, kUnit};  // on durations
  Factor host = kUnit;         // on durations of everything on the training thread
  Factor work = kUnit;         // on the amount of work (sequence length, tokens): kernels and bytes
  Factor expert_work = kUnit;  // the same for expert kernels and their all-to-alls
  // the same for each micro batch, beside `work`; empty: all are equally long
  std::vector<Factor> micro_batches;
  Factor memory = kUnit;  // on durations of what the device's memory bounds (roofline.h)
  Factor nvlink = kUnit;  // on speeds
  Factor nic_send = kUnit;
  Factor nic_receive = kUnit;
  Factor pcie = kUnit;
  bool nvlink_over_pcie = false;  // its part of intra-host rings goes over PCIe
  Factor sm_clock = kUnit;        // on the level of samples, like the next
  Factor cpu_level = kUnit;
  DevicePulses pulses;
  std::vector<HostInsertion> insertions;  // by phase
  Stop stop = Stop::kNone;
  Phase stop_phase = Phase::kForward;
  uint32_t stop_function = 0;
  Factor telemetry_loss = 0;  // share of its batches that are lost, and reported as lost
};

// The path from one host to another at a part of its speed.
struct PathEffect {
  uint32_t source_host = 0;
  uint32_t destination_host = 0;
  Factor speed = kUnit;
};

}  // namespace eroica::simulate
