#include "stream_ops/summarize/stage_split.h"

#include <algorithm>
#include <optional>

#include "schemas/check.h"

namespace eroica {
namespace {

std::optional<StepStage> StageOf(MarkKind kind) {
  if (kind == MarkKind::kForwardBegin) return StepStage::kForward;
  if (kind == MarkKind::kBackwardBegin) return StepStage::kBackward;
  if (kind == MarkKind::kOptimizerBegin) return StepStage::kOptimizer;
  return std::nullopt;
}

// When each stage begins, nothing where no mark says so.
using StageBegins = std::array<std::optional<int64_t>, kStepStageCount>;

std::array<int64_t, kStepStageCount> Split(const StepSpan& span, const StageBegins& begins) {
  std::array<int64_t, kStepStageCount> stage_ns{};
  size_t stage = 0;
  int64_t since_ns = span.begin_ns;
  for (size_t next = 1; next < kStepStageCount; ++next) {
    if (!begins[next]) continue;
    // stages do not run backwards, whatever the marks say
    const int64_t begin_ns = std::max(*begins[next], since_ns);
    stage_ns[stage] = begin_ns - since_ns;
    since_ns = begin_ns;
    stage = next;
  }
  stage_ns[stage] = span.end_ns - since_ns;
  return stage_ns;
}

}  // namespace

void SplitIntoStages(std::span<const Mark> marks, std::span<const StepSpan> spans,
                     std::vector<StepRecord>* steps) {
  EROICA_CHECK(spans.size() == steps->size());
  auto mark = marks.begin();
  for (size_t i = 0; i < spans.size(); ++i) {
    while (mark != marks.end() && mark->time_ns < spans[i].begin_ns) ++mark;
    StageBegins begins;
    bool any = false;
    for (; mark != marks.end() && mark->time_ns < spans[i].end_ns; ++mark) {
      const std::optional<StepStage> stage = StageOf(mark->kind);
      if (!stage) continue;
      std::optional<int64_t>& begin = begins[static_cast<size_t>(*stage)];
      if (!begin) begin = mark->time_ns;
      any = true;
    }
    if (any) (*steps)[i].stage_ns = Split(spans[i], begins);
  }
}

}  // namespace eroica
