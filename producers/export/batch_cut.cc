#include "producers/export/batch_cut.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace eroica {
namespace {

bool ReachesInto(const IntervalColumns& intervals, size_t i, const TimeRange& range) {
  const int64_t start = intervals.start_ns[i];
  if (start >= range.end_ns) return false;
  return start >= range.begin_ns || start + intervals.duration_ns[i] > range.begin_ns;
}

bool IsIn(const Mark& mark, const TimeRange& range) {
  if (mark.time_ns == range.end_ns) return mark.kind == MarkKind::kStepEnd;
  return mark.time_ns >= range.begin_ns && mark.time_ns < range.end_ns;
}

}  // namespace

EventBatch CutBatch(const EventBatch& batch, const TimeRange& range, size_t intervals_max) {
  constexpr uint32_t kLeftOut = std::numeric_limits<uint32_t>::max();
  EventBatch cut;
  cut.identity = batch.identity;
  cut.sequence = batch.sequence;
  cut.final = batch.final;
  cut.functions = batch.functions;
  cut.lanes = batch.lanes;
  cut.communicators = batch.communicators;
  const IntervalColumns& all = batch.intervals;
  std::vector<uint32_t> place(all.size(), kLeftOut);
  for (size_t i = 0; i < all.size() && cut.intervals.size() < intervals_max; ++i) {
    if (!ReachesInto(all, i, range)) continue;
    place[i] = static_cast<uint32_t>(cut.intervals.size());
    const int64_t start = std::max(all.start_ns[i], range.begin_ns);
    cut.intervals.push_back(start, all.start_ns[i] + all.duration_ns[i] - start, all.function[i],
                            all.lane[i]);
  }
  for (Collective collective : batch.collectives) {
    collective.interval = place[collective.interval];
    if (collective.interval != kLeftOut) cut.collectives.push_back(collective);
  }
  for (const Mark& mark : batch.marks) {
    if (IsIn(mark, range)) cut.marks.push_back(mark);
  }
  return cut;
}

size_t IntervalsIn(const EventBatch& batch, const TimeRange& range) {
  size_t count = 0;
  for (size_t i = 0; i < batch.intervals.size(); ++i)
    count += ReachesInto(batch.intervals, i, range) ? 1 : 0;
  return count;
}

}  // namespace eroica
