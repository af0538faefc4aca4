#include "stream_ops/summarize/rank_advance.h"

#include <algorithm>
#include <limits>

namespace eroica {

void RankAdvance::Complete(const OperationKey& key, uint64_t sequence, int64_t end_ns) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  uint64_t& below = completed[key];
  below = std::max(below, sequence == kMost ? kMost : sequence + 1);
  last_progress_ns = std::max(last_progress_ns, end_ns);
}

void RankAdvance::Pass(const Mark& mark) {
  last_progress_ns = std::max(last_progress_ns, mark.time_ns);
  switch (mark.kind) {
    case MarkKind::kCheckpointBegin: pause = Pause::kCheckpoint; break;
    case MarkKind::kEvaluationBegin: pause = Pause::kEvaluation; break;
    case MarkKind::kCheckpointEnd:
    case MarkKind::kEvaluationEnd: pause = Pause::kNone; break;
    default: return;
  }
  pause_since_ns = mark.time_ns;
}

void RankAdvance::EndStep(const StepSpan& step) {
  if (step_count >= kMeanSteps) {
    step_count /= 2;
    step_sum_ns /= 2;
  }
  ++step_count;
  step_sum_ns += step.end_ns - step.begin_ns;
  last_step = std::max(last_step, step.id);
  last_progress_ns = std::max(last_progress_ns, step.end_ns);
}

}  // namespace eroica
