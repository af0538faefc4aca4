#include "tests/evaluation/simulate/simulated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace eroica::simulate {
namespace {

constexpr double kMicrosecond = 1e3;
constexpr double kSecond = 1e9;
constexpr double kMinute = 60 * kSecond;
constexpr double kTebibyte = 1024.0 * 1024 * 1024 * 1024;
// Of the forward passes of all stages in a step: what programs may grow to, and a producer report.
constexpr uint64_t kMaxForwardKernels = 2'000'000;

// One number of the job and where it may lie, both ends included.
struct Bound {
  std::string_view name;
  double value;
  double low;
  double high;
};

absl::Status CheckBounds(std::string_view section, std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) {
    if (bound.value >= bound.low && bound.value <= bound.high) continue;  // not so for NaN
    return absl::InvalidArgumentError(fmt::format("{}{} is {}; it must be between {} and {}",
                                                  section, bound.name, bound.value, bound.low,
                                                  bound.high));
  }
  return absl::OkStatus();
}

double ToDouble(uint64_t value) { return static_cast<double>(value); }
double ToDouble(int64_t value) { return static_cast<double>(value); }

absl::Status CheckOccasion(std::string_view name, const Occasion& occasion) {
  if (occasion.every == 0) return absl::OkStatus();
  const Bound bound = {"duration_ns", ToDouble(occasion.duration_ns), 1, 10 * kMinute};
  return CheckBounds(fmt::format("workload.{}.", name), {&bound, 1});
}

absl::Status CheckWorkload(const Workload& workload) {
  const Bound bounds[] = {
      {"layers", ToDouble(uint64_t{workload.layers}), 1, 4096},
      {"micro_batches", ToDouble(uint64_t{workload.micro_batches}), 1, 4096},
      {"layer_forward_ns", ToDouble(workload.layer_forward_ns), 1'000, kMinute},
      {"embedding_layers", workload.embedding_layers, 0, 1'000},
      {"head_layers", workload.head_layers, 0, 1'000},
      {"kernels_per_layer", ToDouble(uint64_t{workload.kernels_per_layer}), 2, 256},
      {"activation_bytes", ToDouble(workload.activation_bytes), 1, kTebibyte},
      {"parameter_bytes", ToDouble(workload.parameter_bytes), 1, kTebibyte},
      {"gradient_buckets", ToDouble(uint64_t{workload.gradient_buckets}), 1, 4096},
      {"routing_spread", workload.routing_spread, 0, 1},
      {"length_spread", workload.length_spread, 0, 1},
      {"micro_batch_spread", workload.micro_batch_spread, 0, 1},
      {"attention_squares", workload.attention_squares, 0, 1},
      {"data_ns", ToDouble(workload.data_ns), 0, 10 * kMinute},
      {"launch_ns", ToDouble(workload.launch_ns), 1, kSecond},
      {"optimizer_ns", ToDouble(workload.optimizer_ns), 1, 10 * kMinute},
      {"warmup_factor", workload.warmup_factor, 1, 100},
      {"pause_ns", ToDouble(workload.pause_ns), 0, 60 * kMinute},
      {"jitter.kernel", workload.jitter.kernel, 0, 1},
      {"jitter.host", workload.jitter.host, 0, 1},
      {"jitter.transfer", workload.jitter.transfer, 0, 1},
      {"loader_wait.rate", workload.loader_wait.rate, 0, 1},
      {"loader_wait.shortest_ns", ToDouble(workload.loader_wait.shortest_ns), 1, kMinute},
      {"loader_wait.longest_ns", ToDouble(workload.loader_wait.longest_ns),
       ToDouble(workload.loader_wait.shortest_ns), kMinute},
  };
  if (absl::Status status = CheckBounds("workload.", bounds); !status.ok()) return status;
  if (absl::Status status = CheckOccasion("checkpoint", workload.checkpoint); !status.ok())
    return status;
  if (absl::Status status = CheckOccasion("evaluation", workload.evaluation); !status.ok())
    return status;
  return CheckOccasion("garbage_collection", workload.garbage_collection);
}

absl::Status CheckFabric(const Fabric& fabric) {
  const Bound bounds[] = {
      {"nvlink", fabric.nvlink, 0.001, 100'000},
      {"nic", fabric.nic, 0.001, 100'000},
      {"pcie", fabric.pcie, 0.001, 100'000},
      {"dram", fabric.dram, 0.001, 1'000'000},
      {"hop_latency_ns", ToDouble(fabric.hop_latency_ns), 0, kSecond},
      {"rings", ToDouble(uint64_t{fabric.rings}), 1, 64},
      {"hosts_per_rack", ToDouble(uint64_t{fabric.hosts_per_rack}), 1, 1'000'000},
      {"slot_over_nic", fabric.slot_over_nic, 1, 100},
  };
  return CheckBounds("fabric.", bounds);
}

absl::Status CheckHardware(const Hardware& hardware) {
  constexpr double kMostSpread = 0.3;
  const Bound bounds[] = {
      {"device_spread", hardware.device_spread, 0, kMostSpread},
      {"memory_spread", hardware.memory_spread, 0, kMostSpread},
      {"processor_spread", hardware.processor_spread, 0, kMostSpread},
      {"core_spread", hardware.core_spread, 0, kMostSpread},
      {"link_spread", hardware.link_spread, 0, kMostSpread},
      {"memory_bound.matrix", hardware.memory_bound.matrix, 0, 1},
      {"memory_bound.attention", hardware.memory_bound.attention, 0, 1},
      {"memory_bound.elementwise", hardware.memory_bound.elementwise, 0, 1},
      {"memory_bound.experts", hardware.memory_bound.experts, 0, 1},
      {"memory_bound.embedding", hardware.memory_bound.embedding, 0, 1},
      {"memory_bound.optimizer", hardware.memory_bound.optimizer, 0, 1},
      {"clock_on_memory", hardware.clock_on_memory, 0, 1},
      {"clock_on_copies", hardware.clock_on_copies, 0, 1},
  };
  return CheckBounds("hardware.", bounds);
}

absl::Status CheckNoise(const Noise& noise) {
  const Bound bounds[] = {
      {"step_kernel", noise.step_kernel, 0, 0.5},
      {"step_host", noise.step_host, 0, 0.5},
      {"step_transfer", noise.step_transfer, 0, 0.5},
      {"correlation", noise.correlation, 0, 0.95},
  };
  if (absl::Status status = CheckBounds("noise.", bounds); !status.ok()) return status;
  if (noise.tail_degrees == 0) return absl::OkStatus();
  // With two degrees of freedom or fewer the distribution has no standard deviation.
  const Bound degrees = {"tail_degrees", ToDouble(uint64_t{noise.tail_degrees}), 3, 100};
  return CheckBounds("noise.", {&degrees, 1});
}

absl::Status CheckTelemetry(const Telemetry& telemetry) {
  const Bound bounds[] = {
      {"window_steps", ToDouble(uint64_t{telemetry.window_steps}), 1, 100'000},
      {"clock_offset_ns", ToDouble(telemetry.clock_offset_ns), 0, kSecond},
      {"clock_drift_ppm", telemetry.clock_drift_ppm, 0, 1'000},
      {"loss", telemetry.loss, 0, 1},
  };
  if (absl::Status status = CheckBounds("telemetry.", bounds); !status.ok()) return status;
  if (telemetry.sample_period_ns == 0) return absl::OkStatus();
  const Bound period = {"sample_period_ns", ToDouble(telemetry.sample_period_ns), 10 * kMicrosecond,
                        kMinute};
  return CheckBounds("telemetry.", {&period, 1});
}

// What the layout asks of the workload.
absl::Status CheckShape(const ParallelLayout& layout, const Workload& workload) {
  const uint64_t chunks = uint64_t{layout.pipeline} * layout.virtual_stages;
  if (workload.layers < chunks) {
    return absl::InvalidArgumentError(
        fmt::format("workload.layers is {}; it must be at least {}, one for each of "
                    "layout.pipeline x layout.virtual_stages model chunks",
                    workload.layers, chunks));
  }
  if (layout.virtual_stages > 1 && workload.micro_batches % layout.pipeline != 0) {
    return absl::InvalidArgumentError(
        fmt::format("workload.micro_batches is {}; with layout.virtual_stages > 1 it must be a "
                    "multiple of layout.pipeline, {}",
                    workload.micro_batches, layout.pipeline));
  }
  if (layout.expert > 1 && workload.expert_every == 0) {
    return absl::InvalidArgumentError(
        fmt::format("workload.expert_every is 0; with layout.expert of {} it must be at least 1",
                    layout.expert));
  }
  const uint64_t kernels =
      uint64_t{workload.layers} * workload.micro_batches * workload.kernels_per_layer;
  if (kernels > kMaxForwardKernels) {
    return absl::InvalidArgumentError(
        fmt::format("workload.layers x micro_batches x kernels_per_layer is {} x {} x {} = {}; it "
                    "may be at most {}",
                    workload.layers, workload.micro_batches, workload.kernels_per_layer, kernels,
                    kMaxForwardKernels));
  }
  return absl::OkStatus();
}

absl::Status CheckFaultPlace(const std::string& name, const Fault& fault,
                             const ParallelLayout& layout) {
  const uint32_t world = layout.world_size();
  for (const uint32_t rank : fault.ranks) {
    if (rank >= world) {
      return absl::InvalidArgumentError(
          fmt::format("{}.ranks has {}; the job's ranks are 0 to {}", name, rank, world - 1));
    }
  }
  if (fault.peer_rank < -1 || fault.peer_rank >= static_cast<int64_t>(world)) {
    return absl::InvalidArgumentError(
        fmt::format("{}.peer_rank is {}; it must be -1 (none) or a rank, 0 to {}", name,
                    fault.peer_rank, world - 1));
  }
  if (fault.kind != FaultKind::kLinkSlow) return absl::OkStatus();
  if (fault.ranks.empty() || fault.peer_rank < 0) {
    return absl::InvalidArgumentError(
        fmt::format("{} is a slow link; it needs ranks and a peer_rank", name));
  }
  const uint32_t peer_host = layout.HostOf(static_cast<uint32_t>(fault.peer_rank));
  for (const uint32_t rank : fault.ranks) {
    if (layout.HostOf(rank) == peer_host) {
      return absl::InvalidArgumentError(fmt::format(
          "{}.peer_rank is {}; it must be on another host than rank {}, but both are on host {}",
          name, fault.peer_rank, rank, peer_host));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFaultShape(const std::string& name, const FaultShape& shape) {
  const Bound bounds[] = {
      {"fragmented_share", shape.fragmented_share, 0.001, 1},
      {"collecting_share", shape.collecting_share, 0.001, 1},
      {"collecting_places", ToDouble(uint64_t{shape.collecting_places}), 1, 8},
      {"spike_share", shape.spike_share, 0.001, 1},
      {"pause_ns", ToDouble(shape.pause_ns), 1'000, kSecond},
      {"pause_lengths", ToDouble(uint64_t{shape.pause_lengths}), 1, 16},
      {"pulse_ns", ToDouble(shape.pulse_ns), 1'000, kSecond},
      {"pulse_lengths", ToDouble(uint64_t{shape.pulse_lengths}), 1, 16},
      {"pulse_loss", shape.pulse_loss, 0.01, 0.99},
      {"turn_steps", ToDouble(uint64_t{shape.turn_steps}), 1, 10'000'000},
      {"turn_share", shape.turn_share, 0.001, 1},
      {"period_steps", ToDouble(uint64_t{shape.period_steps}), 2, 10'000'000},
      {"flapping_loss", shape.flapping_loss, 0.01, 0.99},
      {"own_nic_share", shape.own_nic_share, 0.01, 1},
      {"neighbor_nic_share", shape.neighbor_nic_share, 0.01, 1},
      {"link_share", shape.link_share, 0, 10},
      {"seen_share", shape.seen_share, 0, 1},
      {"wait_spread", shape.wait_spread, 0, 1},
  };
  return CheckBounds(name + ".", bounds);
}

absl::Status CheckFault(const std::string& name, const Fault& fault, const ParallelLayout& layout,
                        uint32_t steps) {
  if (absl::Status status = CheckFaultPlace(name, fault, layout); !status.ok()) return status;
  if (!(fault.severity > 0) || !std::isfinite(fault.severity)) {
    return absl::InvalidArgumentError(
        fmt::format("{}.severity is {}; it must be above 0", name, fault.severity));
  }
  if (!(fault.duty > 0 && fault.duty <= 1)) {
    return absl::InvalidArgumentError(
        fmt::format("{}.duty is {}; it must be above 0 and at most 1", name, fault.duty));
  }
  if (absl::Status status = CheckFaultShape(name, fault.shape); !status.ok()) return status;
  if (fault.first_step >= steps) {
    return absl::InvalidArgumentError(fmt::format(
        "{}.first_step is {}; the job's steps are 0 to {}", name, fault.first_step, steps - 1));
  }
  if (fault.last_step < fault.first_step) {
    return absl::InvalidArgumentError(
        fmt::format("{}.last_step is {}; it must be at least first_step, {}", name, fault.last_step,
                    fault.first_step));
  }
  return absl::OkStatus();
}

absl::Status CheckResizes(const SimulatedJob& job) {
  for (size_t i = 0; i < job.resizes.size(); ++i) {
    const Resize& resize = job.resizes[i];
    const std::string name = fmt::format("resizes[{}]", i);
    const uint32_t earliest = i == 0 ? 1 : job.resizes[i - 1].step + 1;
    if (resize.step < earliest || resize.step >= job.steps) {
      return absl::InvalidArgumentError(fmt::format(
          "{}.step is {}; it must be between {} and {}, after the one before and within the job",
          name, resize.step, earliest, std::max(earliest, job.steps - 1)));
    }
    const Bound pause = {".pause_ns", ToDouble(resize.pause_ns), 0, 60 * kMinute};
    if (absl::Status status = CheckBounds(name, {&pause, 1}); !status.ok()) return status;
    ParallelLayout layout = job.layout;
    layout.data = resize.data;
    if (absl::Status status = Check(layout); !status.ok())
      return absl::InvalidArgumentError(name + " makes " + std::string(status.message()));
    for (size_t fault = 0; fault < job.faults.size(); ++fault) {
      if (absl::Status status =
              CheckFaultPlace(fmt::format("faults[{}]", fault), job.faults[fault], layout);
          !status.ok())
        return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Check(const SimulatedJob& job) {
  if (job.job.empty()) return absl::InvalidArgumentError("job is empty; it must have a name");
  const Bound steps = {"steps", ToDouble(uint64_t{job.steps}), 1, 10'000'000};
  if (absl::Status status = CheckBounds("", {&steps, 1}); !status.ok()) return status;
  if (absl::Status status = Check(job.layout); !status.ok()) return status;
  if (absl::Status status = CheckWorkload(job.workload); !status.ok()) return status;
  if (absl::Status status = CheckFabric(job.fabric); !status.ok()) return status;
  if (absl::Status status = CheckHardware(job.hardware); !status.ok()) return status;
  if (absl::Status status = CheckNoise(job.noise); !status.ok()) return status;
  if (absl::Status status = CheckTelemetry(job.telemetry); !status.ok()) return status;
  if (absl::Status status = CheckShape(job.layout, job.workload); !status.ok()) return status;
  for (size_t i = 0; i < job.faults.size(); ++i) {
    if (absl::Status status =
            CheckFault(fmt::format("faults[{}]", i), job.faults[i], job.layout, job.steps);
        !status.ok())
      return status;
  }
  return CheckResizes(job);
}

}  // namespace eroica::simulate
