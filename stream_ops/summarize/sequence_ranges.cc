#include "stream_ops/summarize/sequence_ranges.h"

#include <iterator>
#include <limits>

namespace eroica {

bool SequenceRanges::AddRange(uint64_t first, uint64_t last) {
  auto after = ranges_.upper_bound(last);
  if (after != ranges_.begin() && std::prev(after)->second >= first) return false;
  uint64_t end = last;
  if (after != ranges_.end() && after->first == last + 1) {  // last + 1 == 0 has no range after it
    end = after->second;
    after = ranges_.erase(after);
  }
  if (after != ranges_.begin() && std::prev(after)->second + 1 == first) {
    std::prev(after)->second = end;
  } else {
    ranges_.emplace_hint(after, first, end);
  }
  if (ranges_.size() > kMostRanges) {
    const auto second = std::next(ranges_.begin());
    ranges_.begin()->second = second->second;
    ranges_.erase(second);
  }
  return true;
}

bool SequenceRanges::Contains(uint64_t sequence) const {
  const auto after = ranges_.upper_bound(sequence);
  return after != ranges_.begin() && std::prev(after)->second >= sequence;
}

void SequenceRanges::Remove(uint64_t sequence) {
  auto range = ranges_.upper_bound(sequence);
  if (range == ranges_.begin() || (--range)->second < sequence) return;
  const auto [first, last] = *range;
  ranges_.erase(range);
  if (first < sequence) ranges_.emplace(first, sequence - 1);
  if (last > sequence) ranges_.emplace(sequence + 1, last);
}

uint64_t SequenceRanges::CountMissing(uint64_t first, uint64_t last) const {
  uint64_t missing = 0;
  VisitMissing(first, last, [&](uint64_t begin, uint64_t end) {
    const uint64_t length = end - begin;
    missing = length >= std::numeric_limits<uint64_t>::max() - missing
                  ? std::numeric_limits<uint64_t>::max()
                  : missing + length + 1;
  });
  return missing;
}

}  // namespace eroica
