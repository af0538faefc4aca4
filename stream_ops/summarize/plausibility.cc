#include "stream_ops/summarize/plausibility.h"

#include <algorithm>
#include <limits>

namespace eroica {
namespace {

// The last moment of which the batch says anything.
int64_t LatestMoment(const EventBatch& batch) {
  int64_t latest_ns = 0;
  const IntervalColumns& rows = batch.intervals;
  for (size_t i = 0; i < rows.size(); ++i)
    latest_ns = std::max(latest_ns, rows.start_ns[i] + rows.duration_ns[i]);
  if (!batch.marks.empty()) latest_ns = std::max(latest_ns, batch.marks.back().time_ns);
  if (!batch.samples.empty()) latest_ns = std::max(latest_ns, batch.samples.back().time_ns);
  if (!batch.connections.empty()) latest_ns = std::max(latest_ns, batch.connections.back().time_ns);
  if (!batch.progress.empty()) latest_ns = std::max(latest_ns, batch.progress.back().time_ns);
  return latest_ns;
}

}  // namespace

// One batch says so by mistake, two because the clock was set. What is sent twice is one.
bool Plausibility::Leaps(const EventBatch& batch, int64_t latest_ns, int64_t now_ns,
                         int64_t newest_ns) {
  const ProducerIdentity& from = batch.identity;
  const int64_t plausible_ns = std::max(now_ns, newest_ns);
  if (latest_ns <= plausible_ns || latest_ns - plausible_ns <= kMostLeapNs) {
    leapt_.erase(from.rank);
    return false;
  }
  const BatchName name{from.producer, from.pid, batch.sequence};
  const auto [before, first] = leapt_.try_emplace(from.rank, name);
  if (first || before->second == name) return true;
  leapt_.erase(before);
  return false;
}

DropReason Plausibility::Check(const EventBatch& batch, int64_t now_ns,
                               std::optional<int64_t> newest_ns) {
  const int64_t latest_ns = LatestMoment(batch);
  if (latest_ns > now_ns && latest_ns - now_ns > kMostAheadNs) return DropReason::kAheadOfClock;
  if (newest_ns && Leaps(batch, latest_ns, now_ns, *newest_ns)) return DropReason::kAheadOfClock;
  if (newest_step_ < 0) return DropReason::kNone;
  for (const Mark& mark : batch.marks) {
    if (!IsStepMark(mark) || mark.id <= newest_step_) continue;
    const int64_t since_ns = std::max<int64_t>(0, mark.time_ns - newest_step_ns_);
    if (mark.id - newest_step_ > kMostStepsAhead + since_ns / kShortestStepNs)
      return DropReason::kAheadOfSteps;
  }
  return DropReason::kNone;
}

void Plausibility::Learn(const EventBatch& batch) {
  for (const Mark& mark : batch.marks) {
    if (IsStepMark(mark)) LearnStep(mark.id, mark.time_ns);
  }
}

void Plausibility::LearnStep(int64_t step, int64_t time_ns) {
  if (step <= newest_step_) return;
  newest_step_ = step;
  newest_step_ns_ = time_ns;
}

}  // namespace eroica
