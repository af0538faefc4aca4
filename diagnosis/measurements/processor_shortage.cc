#include "diagnosis/measurements/processor_shortage.h"

#include "diagnosis/measurements/starvation.h"
#include "schemas/pattern_batch.h"

namespace eroica {
namespace {

double ShareOnHostOf(const CrossRankView& view, RankIndex rank, bool with_rank) {
  const RankView& own = view.ranks()[rank];
  double step_ns = 0;
  double waiting_ns = 0;
  for (const RankView& other : view.ranks()) {
    if (!other.has_steps() || other.batch->host != own.batch->host) continue;
    if (!with_rank && &other == &own) continue;
    for (const StepRecord& step : other.batch->steps)
      step_ns += static_cast<double>(step.duration_ns);
    waiting_ns += CriticalProcessorWaitNs(*other.batch);
  }
  return step_ns > 0 ? waiting_ns / step_ns : 0;
}

}  // namespace

double ShareWaitingForProcessors(const CrossRankView& view, RankIndex rank) {
  return ShareOnHostOf(view, rank, true);
}

double ShareOthersWaitForProcessors(const CrossRankView& view, RankIndex rank) {
  return ShareOnHostOf(view, rank, false);
}

}  // namespace eroica
