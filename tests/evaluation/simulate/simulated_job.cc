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
      {"data_ns", ToDouble(workload.data_ns), 0, 10 * kMinute},
      {"launch_ns", ToDouble(workload.launch_ns), 1, kSecond},
      {"optimizer_ns", ToDouble(workload.optimizer_ns), 1, 10 * kMinute},
      {"warmup_factor", workload.warmup_factor, 1, 100},
      {"pause_ns", ToDouble(workload.pause_ns), 0, 60 * kMinute},
      {"jitter.kernel", workload.jitter.kernel, 0, 1},
      {"jitter.host", workload.jitter.host, 0, 1},
      {"jitter.transfer", workload.jitter.transfer, 0, 1},
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
  };
  return CheckBounds("fabric.", bounds);
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
