#include "stream_ops/pattern/critical_clock.h"

#include <algorithm>
#include <iterator>

namespace eroica {

void CriticalClock::Append(int64_t begin_ns, int64_t end_ns) {
  if (begin_ns >= end_ns) return;
  const int64_t before = segments_.empty() ? 0 : segments_.back().before_ns + segments_.back().end_ns - segments_.back().begin_ns;
  segments_.push_back({begin_ns, end_ns, before});
}

void CriticalClock::Set(const std::vector<TimeSpan>& own, const std::vector<TimeSpan>& above) {
  segments_.clear();
  position_ = 0;
  undisturbed_ = above.empty();
  size_t next = 0;  // of above
  for (const TimeSpan& span : own) {
    int64_t begin = span.begin_ns;
    while (next < above.size() && above[next].end_ns <= begin) ++next;
    for (size_t i = next; i < above.size() && above[i].begin_ns < span.end_ns; ++i) {
      Append(begin, above[i].begin_ns);
      begin = above[i].end_ns;
      next = i;
    }
    Append(begin, span.end_ns);
  }
}

int64_t CriticalClock::Find(int64_t t, size_t from) const {
  const size_t count = segments_.size();
  if (count == 0) return 0;
  // The last segment that begins at or before t lies in [low, high).
  size_t low = from;
  size_t step = 1;
  while (low + step < count && segments_[low + step].begin_ns <= t) {
    low += step;
    step *= 2;
  }
  size_t high = std::min(low + step, count);
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (segments_[middle].begin_ns <= t ? low : high) = middle;
  }
  return segments_[low].At(t);
}

void CriticalClocks::Clear() {
  for (SpanUnion& spans : running_) spans.clear();
}

void CriticalClocks::Finish() {
  size_t lowest = running_.size();
  while (lowest > 0 && running_[lowest - 1].spans().empty()) --lowest;
  above_.clear();
  for (size_t priority = 0; priority < running_.size(); ++priority) {
    const std::vector<TimeSpan>& own = running_[priority].spans();
    clocks_[priority].Set(own, above_);
    if (own.empty() || priority + 1 >= lowest) continue;  // nothing runs below that it could disturb
    if (above_.empty()) {
      above_ = own;
      continue;
    }
    joined_.clear();
    std::merge(above_.begin(), above_.end(), own.begin(), own.end(), std::back_inserter(joined_),
               [](const TimeSpan& a, const TimeSpan& b) { return a.begin_ns < b.begin_ns; });
    above_.clear();
    for (const TimeSpan& span : joined_) {
      if (!above_.empty() && span.begin_ns <= above_.back().end_ns) {
        above_.back().end_ns = std::max(above_.back().end_ns, span.end_ns);
      } else {
        above_.push_back(span);
      }
    }
  }
}

}  // namespace eroica
