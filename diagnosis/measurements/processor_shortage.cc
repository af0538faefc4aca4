#include "diagnosis/measurements/processor_shortage.h"

#include <algorithm>
#include <span>

#include "diagnosis/measurements/job_profile.h"
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

namespace {

// Over the newest windows, this one among them, that last kTimeOfAccidentsNs together: of the ranks
// of the job. 0 where this one lasts as long.
double ShareOfLateWaits(const CrossRankView& view, const PatternBatch& batch) {
  auto time_ns = static_cast<double>(batch.window.duration_ns());
  if (time_ns >= kTimeOfAccidentsNs) return 0;
  double waited_ns = 0;
  const std::span<const PatternBatch> past = view.past().profiles;
  for (size_t i = past.size(); i > 0 && time_ns < kTimeOfAccidentsNs; --i) {
    const PatternBatch& profile = past[i - 1];
    const auto steps = static_cast<double>(profile.steps.size());
    time_ns += steps * ProfileStepNs(profile);
    waited_ns += steps * CriticalProcessorWaitNs(profile);
  }
  return time_ns > 0 ? waited_ns / time_ns : 0;
}

}  // namespace

ProcessorWaits ProcessorWaitsOf(const CrossRankView& view, RankIndex rank) {
  const PatternBatch& batch = *view.ranks()[rank].batch;
  const MeanStep step = MeanStepOf(batch);
  const double share =
      std::max(ShareOthersWaitForProcessors(view, rank), ShareOfLateWaits(view, batch));
  return {.own_ns = CriticalProcessorWaitNs(batch) / std::max(1.0, step.steps),
          .others_ns = share * step.duration_ns,
          .step_ns = step.duration_ns,
          .steps = step.steps};
}

}  // namespace eroica
