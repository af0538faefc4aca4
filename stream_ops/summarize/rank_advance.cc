#include "stream_ops/summarize/rank_advance.h"

#include <algorithm>
#include <limits>

namespace eroica {

std::optional<Pause> PauseAfter(const Mark& mark) {
  switch (mark.kind) {
    case MarkKind::kCheckpointBegin: return Pause::kCheckpoint;
    case MarkKind::kEvaluationBegin: return Pause::kEvaluation;
    case MarkKind::kCheckpointEnd:
    case MarkKind::kEvaluationEnd: return Pause::kNone;
    default: return std::nullopt;
  }
}

void RankAdvance::Complete(const OperationKey& key, uint64_t sequence, int64_t end_ns) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  last_progress_ns = std::max(last_progress_ns, end_ns);
  auto known = completed.find(key);
  if (known == completed.end()) {
    if (completed.size() == kMostOperations) return;
    known = completed.emplace(key, 0).first;
  }
  known->second = std::max(known->second, sequence == kMost ? kMost : sequence + 1);
}

void RankAdvance::Pass(const Mark& mark) {
  last_progress_ns = std::max(last_progress_ns, mark.time_ns);
  if (const std::optional<Pause> next = PauseAfter(mark)) {
    pause = *next;
    pause_since_ns = mark.time_ns;
  }
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
