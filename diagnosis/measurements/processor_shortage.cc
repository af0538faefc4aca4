#include "diagnosis/measurements/processor_shortage.h"

#include "diagnosis/measurements/starvation.h"
#include "schemas/pattern_batch.h"

namespace eroica {

double ShareWaitingForProcessors(const CrossRankView& view, RankIndex rank) {
  const std::string& host = view.ranks()[rank].batch->host;
  double step_ns = 0;
  double waiting_ns = 0;
  for (const RankView& other : view.ranks()) {
    if (!other.has_steps() || other.batch->host != host) continue;
    for (const StepRecord& step : other.batch->steps)
      step_ns += static_cast<double>(step.duration_ns);
    waiting_ns += CriticalProcessorWaitNs(*other.batch);
  }
  return step_ns > 0 ? waiting_ns / step_ns : 0;
}

}  // namespace eroica
