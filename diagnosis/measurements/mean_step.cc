#include "diagnosis/measurements/mean_step.h"

#include <algorithm>

namespace eroica {

MeanStep MeanStepOf(const PatternBatch& batch) {
  MeanStep mean{.steps = static_cast<double>(batch.steps.size())};
  if (batch.steps.empty()) return mean;
  for (const StepRecord& step : batch.steps) {
    mean.duration_ns += static_cast<double>(step.duration_ns);
    mean.wait_ns += static_cast<double>(step.peer_wait_ns);
  }
  mean.duration_ns /= mean.steps;
  mean.wait_ns /= mean.steps;
  return mean;
}

double PerStep(const PatternBatch& batch, int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(std::max<size_t>(1, batch.steps.size()));
}

}  // namespace eroica
