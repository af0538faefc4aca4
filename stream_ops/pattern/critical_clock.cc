#include "stream_ops/pattern/critical_clock.h"

#include <algorithm>
#include <utility>

namespace eroica {

void CriticalClock::Set(const std::vector<TimeSpan>& own, const std::vector<TimeSpan>& above) {
  segments_.clear();
  position_ = 0;
  undisturbed_ = above.empty();
  int64_t shows_ns = 0;
  const auto append = [&](int64_t begin_ns, int64_t end_ns) {
    if (begin_ns >= end_ns) return;
    segments_.push_back({begin_ns, end_ns, shows_ns});
    shows_ns += end_ns - begin_ns;
  };
  auto next = above.begin();
  for (const TimeSpan& span : own) {
    int64_t begin_ns = span.begin_ns;
    while (next != above.end() && next->end_ns <= begin_ns) ++next;
    for (; next != above.end() && next->begin_ns < span.end_ns; ++next) {
      append(begin_ns, next->begin_ns);
      begin_ns = next->end_ns;
      if (begin_ns >= span.end_ns) break;  // it may reach into the next span too
    }
    append(begin_ns, span.end_ns);
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

// above_ becomes the union of itself and own.
void CriticalClocks::Join(const std::vector<TimeSpan>& own) {
  joined_.clear();
  auto a = above_.begin();
  auto b = own.begin();
  while (a != above_.end() || b != own.end()) {
    const bool take_a = b == own.end() || (a != above_.end() && a->begin_ns <= b->begin_ns);
    const TimeSpan& span = take_a ? *a++ : *b++;
    joined_.Add(span.begin_ns, span.end_ns);
  }
  std::swap(above_, joined_.spans());
}

void CriticalClocks::Finish() {
  size_t lowest = running_.size();
  while (lowest > 0 && running_[lowest - 1].spans().empty()) --lowest;
  above_.clear();
  for (size_t priority = 0; priority < running_.size(); ++priority) {
    const std::vector<TimeSpan>& own = running_[priority].spans();
    clocks_[priority].Set(own, above_);
    if (own.empty() || priority + 1 >= lowest)
      continue;  // nothing runs below that it could disturb
    if (above_.empty()) {
      above_ = own;
      continue;
    }
    Join(own);
  }
}

}  // namespace eroica
