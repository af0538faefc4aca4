#include "stream_ops/summarize/step_table.h"

#include <algorithm>

namespace eroica {

void StepTable::Add(const Mark& mark, int64_t offset) {
  if (mark.id < 0 || (mark.kind != MarkKind::kStepBegin && mark.kind != MarkKind::kStepEnd)) return;
  const auto [entry, is_new] = steps_.try_emplace(mark.id);
  Step& step = entry->second;
  if (!is_new) by_time_.erase(TimeAndId(mark.id, step));
  int64_t& time_ns = mark.kind == MarkKind::kStepBegin ? step.begin_ns : step.end_ns;
  time_ns = std::min(time_ns, mark.time_ns);
  step.offset = std::min(step.offset, offset);
  by_time_.insert(TimeAndId(mark.id, step));
  latest_.reset();
}

void StepTable::Merge(const StepTable& other) {
  for (const auto& [id, step] : other.steps_) {
    if (step.begin_ns != kUnknown) Add({step.begin_ns, MarkKind::kStepBegin, id}, step.offset);
    if (step.end_ns != kUnknown) Add({step.end_ns, MarkKind::kStepEnd, id}, step.offset);
  }
}

std::vector<StepSpan> StepTable::Resolve(int64_t from_ns, int64_t until_ns) const {
  std::vector<StepSpan> spans;
  for (const auto& [id, step] : steps_) {
    if (step.begin_ns < from_ns || step.begin_ns == kUnknown) continue;
    if (!spans.empty()) {
      StepSpan& last = spans.back();
      if (step.begin_ns < last.begin_ns)
        continue;  // a number that went back in time: no step of this window
      last.end_ns = std::min(last.end_ns, step.begin_ns);
    }
    if (step.begin_ns >= until_ns) break;
    spans.push_back(
        {id, step.begin_ns,
         step.end_ns >= step.begin_ns ? std::min(step.end_ns, kEndOfTimeNs) : kEndOfTimeNs});
  }
  std::erase_if(spans, [](const StepSpan& step) { return step.end_ns == step.begin_ns; });
  return spans;
}

std::optional<int64_t> StepTable::LatestBegunBy(int64_t time_ns) {
  if (latest_ && latest_->second == time_ns && steps_.contains(latest_->first))
    return latest_->first;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->second.begin_ns > time_ns) continue;
    latest_ = {step->first, time_ns};
    return step->first;
  }
  return std::nullopt;
}

std::optional<StepTable::Begin> StepTable::FirstFrom(int64_t id) const {
  for (auto step = steps_.lower_bound(id); step != steps_.end(); ++step) {
    if (step->second.begin_ns != kUnknown) return Begin{step->first, step->second.begin_ns};
  }
  return std::nullopt;
}

bool StepTable::HasStepFrom(int64_t id) const {
  return std::any_of(steps_.lower_bound(id), steps_.end(), [](const auto& entry) {
    return entry.second.begin_ns != kUnknown && entry.second.end_ns != entry.second.begin_ns;
  });
}

void StepTable::ForgetBefore(int64_t time_ns) {
  while (!by_time_.empty() && by_time_.begin()->first < time_ns) {
    steps_.erase(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
  }
}

std::optional<int64_t> StepTable::first_offset() const {
  std::optional<int64_t> first;
  for (const auto& [id, step] : steps_) first = std::min(first.value_or(step.offset), step.offset);
  return first;
}

}  // namespace eroica
