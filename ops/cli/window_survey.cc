#include "ops/cli/window_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "schemas/window_name.h"

namespace eroica {
namespace {

void KeepEarliest(int64_t time_ns, std::optional<int64_t>* kept) {
  *kept = std::min(kept->value_or(time_ns), time_ns);
}
void KeepLatest(int64_t time_ns, std::optional<int64_t>* kept) {
  *kept = std::max(kept->value_or(time_ns), time_ns);
}

}  // namespace

std::string ToString(const WantedWindow& window) {
  if (!window.kind) return fmt::format("{}", window.index);
  return WindowName(*window.kind, window.index);
}

void WindowSurvey::Add(const EventBatch& batch) {
  Rank& rank = ranks_[batch.identity.rank.value];
  rank.of_steps |= batch.identity.window_steps > 0;
  const auto see = [&rank](int64_t begin_ns, int64_t end_ns) {
    if (!rank.seen) rank.seen = TimeRange{begin_ns, end_ns};
    rank.seen->begin_ns = std::min(rank.seen->begin_ns, begin_ns);
    rank.seen->end_ns = std::max(rank.seen->end_ns, end_ns);
  };
  for (size_t i = 0; i < batch.intervals.size(); ++i)
    see(batch.intervals.start_ns[i], batch.intervals.start_ns[i] + batch.intervals.duration_ns[i]);
  for (const Mark& mark : batch.marks) see(mark.time_ns, mark.time_ns);
  AddMarks(batch, &rank);
}

void WindowSurvey::AddMarks(const EventBatch& batch, Rank* rank) const {
  if (!window_ || window_->kind == WindowKind::kTime || batch.identity.window_steps == 0) return;
  const StepWindows windows{.size = batch.identity.window_steps,
                            .offset = batch.identity.window_offset};
  for (const Mark& mark : batch.marks) {
    const bool begins = mark.kind == MarkKind::kStepBegin;
    if ((!begins && mark.kind != MarkKind::kStepEnd) || mark.id < 0) continue;
    const int64_t index = windows.IndexOf(mark.id);
    if (index == window_->index && begins) KeepEarliest(mark.time_ns, &rank->begin_ns);
    if (index == window_->index && !begins) KeepLatest(mark.time_ns, &rank->last_step_end_ns);
    if (index > window_->index && begins) KeepEarliest(mark.time_ns, &rank->next_begin_ns);
  }
}

std::optional<TimeRange> WindowSurvey::RangeOf(const Rank& rank) const {
  if (!rank.seen) return std::nullopt;
  TimeRange range = *rank.seen;
  ++range.end_ns;  // exclusive: what has no length counts, too
  if (!window_) return range;
  const WindowKind of_rank = rank.of_steps ? WindowKind::kSteps : WindowKind::kTime;
  if (window_->kind.value_or(of_rank) == WindowKind::kTime) {
    if (window_->index >= std::numeric_limits<int64_t>::max() / time_window_ns_)
      return std::nullopt;
    range.begin_ns = std::max(range.begin_ns, window_->index * time_window_ns_);
    range.end_ns = std::min(range.end_ns, (window_->index + 1) * time_window_ns_);
    return range;
  }
  if (!rank.begin_ns) return std::nullopt;
  range.begin_ns = *rank.begin_ns;
  if (rank.last_step_end_ns) range.end_ns = *rank.last_step_end_ns;
  if (rank.next_begin_ns) range.end_ns = *rank.next_begin_ns;
  return range;
}

std::map<uint32_t, TimeRange> WindowSurvey::Ranges() const {
  std::map<uint32_t, TimeRange> ranges;
  for (const auto& [number, rank] : ranks_) {
    const std::optional<TimeRange> range = RangeOf(rank);
    if (range && range->begin_ns < range->end_ns) ranges.emplace(number, *range);
  }
  return ranges;
}

}  // namespace eroica
