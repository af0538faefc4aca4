// Windows of a small job on devices for the tests of the operators: kernels that work on data, on
// experts' tokens and on parameters, each called many times a step.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/training_view.h"

namespace eroica {

// By how much a rank differs from a healthy one.
struct DeviceRank {
  double data = 1;  // of the time in kernels on data
  double optimizer = 1;
  double experts = 1;  // of the time in the experts' kernels
  double bytes = 1;    // of what the rank exchanges for its experts
  double clock = 1;
  double paused = 0;      // share by which its kernels are longer, all of it in one call out of 20
  double thread_ms = 0;   // a step, in a function of its thread that no other rank runs
  double first_data = 0;  // > 0: of the time in the first kernel on data, in place of `data`
};

struct DeviceJobShape {
  double scale = 1;       // of all durations
  bool samples = true;    // of the clock
  bool optimizer = true;  // its kernels are seen
  bool memory = false;    // kernels on data that memory bounds are among them
  bool experts = false;
  double expert_ms = 10;  // a step
  double host_ms = 0;     // a step, beside the kernels
};

class DeviceJob {
 public:
  explicit DeviceJob(const std::vector<DeviceRank>& ranks, DeviceJobShape shape = {})
      : shape_(shape), view_(static_cast<uint32_t>(ranks.size())) {
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) AddRank(rank, ranks[rank]);
    view_.Finish();
  }

  TrainingView& view() { return view_; }

 private:
  static constexpr uint32_t kCallsPerStep = 20;
  static constexpr uint32_t kSteps = 8;

  void AddRank(uint32_t rank, const DeviceRank& is) {
    for (int kernel = 0; kernel < 6; ++kernel) {
      const double longer = kernel == 0 && is.first_data > 0 ? is.first_data : is.data;
      Kernel(rank, "gemm_" + std::to_string(kernel), 14, longer, is);
    }
    for (int kernel = 0; shape_.memory && kernel < 3; ++kernel)
      Kernel(rank, "vectorized_elementwise_kernel_" + std::to_string(kernel), 5, is.data, is);
    if (is.thread_ms > 0) Append(rank, "fetch", is.thread_ms, FunctionClass::kPython);
    if (shape_.host_ms > 0) Append(rank, "train_step", shape_.host_ms, FunctionClass::kPython);
    if (shape_.experts) {
      Kernel(rank, "grouped_gemm", shape_.expert_ms, is.experts, is);
      FunctionPattern& exchange = Append(rank, "SendRecv", 2, FunctionClass::kCollective);
      exchange.bytes = static_cast<uint64_t>(std::llround(1e9 * is.bytes));
    }
    if (shape_.optimizer)
      Kernel(rank, "multi_tensor_apply_kernel<AdamFunctor>", 4, is.optimizer, is);
  }

  FunctionPattern& Append(uint32_t rank, std::string_view name, double ms,
                          FunctionClass function_class) {
    view_.Run(rank, name, ms * shape_.scale, "", function_class);
    return view_.batches()[rank].patterns.back();
  }

  void Kernel(uint32_t rank, std::string_view name, double ms, double longer,
              const DeviceRank& is) {
    FunctionPattern& pattern =
        Append(rank, name, ms * longer * (1 + is.paused), FunctionClass::kGpuCompute);
    const double call_ns = ms * longer * shape_.scale * 1e6 / kCallsPerStep;
    pattern.count = kCallsPerStep * kSteps;
    pattern.duration_mean_ns = call_ns * (1 + is.paused);
    pattern.histogram.Add(static_cast<uint64_t>(call_ns), (kCallsPerStep - 1) * kSteps);
    pattern.histogram.Add(static_cast<uint64_t>(call_ns * (1 + is.paused * kCallsPerStep)), kSteps);
    if (!shape_.samples) return;
    pattern.resource = Resource::kGpuSm;
    pattern.resource_samples = 100;
    pattern.mu = 0.9 * is.clock;
  }

  DeviceJobShape shape_;
  TrainingView view_;
};

}  // namespace eroica
