#include "tests/evaluation/real/varied_batch_sink.h"

#include <algorithm>

namespace eroica {
namespace {

void RemoveStepMarks(EventBatch& batch, int64_t step) {
  std::erase_if(batch.marks, [](const Mark& mark) {
    return mark.kind == MarkKind::kStepBegin || mark.kind == MarkKind::kStepEnd;
  });
  for (ProgressReport& report : batch.progress) report.step = step;
}

void Insert(const Mark& mark, std::vector<Mark>& marks) {
  marks.insert(std::upper_bound(marks.begin(), marks.end(), mark,
                                [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; }),
               mark);
}

}  // namespace

// From the first event of the rank to the end of the last, as the importer does.
void VariedBatchSink::MakeOneStep() {
  OnlyStep& step = only_steps_[batch_.identity.rank.value];
  const IntervalColumns& rows = batch_.intervals;
  for (size_t i = 0; i < rows.size(); ++i)
    step.end_ns = std::max(step.end_ns, rows.start_ns[i] + rows.duration_ns[i]);
  if (!step.begun && rows.size() > 0) {
    Insert({rows.start_ns.front(), MarkKind::kStepBegin, 0}, batch_.marks);
    step.begun = true;
  }
  if (step.begun && batch_.final) Insert({step.end_ns, MarkKind::kStepEnd, 0}, batch_.marks);
}

absl::Status VariedBatchSink::Write(const EventBatch& batch) {
  const std::vector<uint32_t>& ranks = variation_.ranks;
  if (!std::binary_search(ranks.begin(), ranks.end(), batch.identity.rank.value))
    return absl::OkStatus();
  batch_ = batch;  // its memory is used again
  batch_.identity.window_steps = variation_.window_steps;
  batch_.identity.window_offset = 0;
  if (variation_.step_marks == StepMarks::kOneStep) {
    RemoveStepMarks(batch_, 0);
    MakeOneStep();
  } else if (variation_.step_marks == StepMarks::kNone) {
    RemoveStepMarks(batch_, -1);
    batch_.identity.window_steps = 0;
  }
  return sink_.Write(batch_);
}

}  // namespace eroica
