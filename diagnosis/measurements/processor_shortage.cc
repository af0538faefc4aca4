#include "diagnosis/measurements/processor_shortage.h"

#include <algorithm>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/starvation.h"
#include "schemas/pattern_batch.h"

namespace eroica {

double ShareOthersWaitForProcessors(const CrossRankView& view, RankIndex rank) {
  const RankView& own = view.ranks()[rank];
  double step_ns = 0;
  double waiting_ns = 0;
  for (const RankView& other : view.ranks()) {
    if (&other == &own || !other.has_steps() || other.batch->host != own.batch->host) continue;
    for (const StepRecord& step : other.batch->steps)
      step_ns += static_cast<double>(step.duration_ns);
    waiting_ns += CriticalProcessorWaitNs(*other.batch);
  }
  return step_ns > 0 ? waiting_ns / step_ns : 0;
}

ProcessorWaits ProcessorWaitsOf(const CrossRankView& view, RankIndex rank) {
  const PatternBatch& batch = *view.ranks()[rank].batch;
  const MeanStep step = MeanStepOf(batch);
  return {.own_ns = CriticalProcessorWaitNs(batch) / std::max(1.0, step.steps),
          .others_ns = ShareOthersWaitForProcessors(view, rank) * step.duration_ns,
          .step_ns = step.duration_ns,
          .steps = step.steps};
}

}  // namespace eroica
