// RankWindows: reports of progress, and how far the rank has come at the moment of each.
#include <algorithm>
#include <tuple>
#include <utility>

#include "stream_ops/summarize/rank_windows.h"

namespace eroica {
namespace {

// Producers report about every second; more often than this says nothing new.
constexpr int64_t kShortestPeriodNs = 900'000'000;

}  // namespace

bool RankWindows::TakeReport(Close close, const CommunicatorTable& communicators, HeldReport* out) {
  const int64_t watermark =
      std::max(progress_.max_event_ns, max_report_ns_) - shared_->options.out_of_orderness_ns;
  while (!reports_.empty() && (close != Close::kPassed || reports_.begin()->first <= watermark)) {
    *out = std::move(reports_.begin()->second);
    reports_.erase(reports_.begin());
    const int64_t time_ns = out->report.time_ns;
    if (reported_ns_ >= 0 && time_ns - reported_ns_ < kShortestPeriodNs && !out->report.timed_out) {
      ++shared_->probe.reports_left_out;
      continue;
    }
    reported_ns_ = time_ns;
    AdvanceTo(time_ns, communicators);
    return true;
  }
  return false;
}

// Counts the collectives of open windows that have ended by the moment. Each chunk is looked
// through until all of its own have.
void RankWindows::AdvanceTo(int64_t time_ns, const CommunicatorTable& communicators) {
  const auto count = [&](const Interval& interval) {
    collectives_.Visit(interval.lane, [&](const CollectiveRow& row) {
      if (row.end_ns > time_ns) return;
      const OperationKey key{communicators[row.communicator].id, row.collective.operation,
                             row.collective.peer};
      progress_.advance.Complete(key, row.collective.sequence, row.end_ns);
    });
  };
  for (const Interval& interval : carried_) count(interval);
  for (EventChunk& chunk : chunks_) {
    if (chunk.uncounted_ns == 0) continue;
    for (size_t i = chunk.taken; i < chunk.intervals.size(); ++i) count(chunk.intervals[i]);
    if (chunk.uncounted_ns <= time_ns) chunk.uncounted_ns = 0;
  }
}

// Only such steps are counted when windows of time close.
bool RankWindows::LiesInOneWindow(const StepSpan& step) const {
  const int64_t size_ns = shared_->options.window_ns;
  return progress_.kind == WindowKind::kSteps ||
         step.end_ns <= (step.begin_ns / size_ns + 1) * size_ns;
}

RankAdvance RankWindows::AdvanceOfOpenWindows(int64_t time_ns) const {
  RankAdvance advance = progress_.advance;
  std::vector<Mark> marks;
  for (const Mark& mark : marks_) {
    if (mark.time_ns <= time_ns) marks.push_back(mark);
  }
  const auto key = [](const Mark& mark) { return std::tuple(mark.time_ns, mark.kind, mark.id); };
  std::sort(marks.begin(), marks.end(),
            [&](const Mark& a, const Mark& b) { return key(a) < key(b); });
  for (const Mark& mark : marks) advance.Pass(mark);
  for (const StepSpan& step : steps_.Resolve(progress_.closed_until_ns, time_ns + 1)) {
    advance.last_progress_ns = std::max(advance.last_progress_ns, step.begin_ns);
    if (step.end_ns <= time_ns && LiesInOneWindow(step)) advance.EndStep(step);
  }
  return advance;
}

}  // namespace eroica
