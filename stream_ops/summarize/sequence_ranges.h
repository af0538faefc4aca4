// A set of sequence numbers, as ranges: what came is nearly contiguous, and so is what is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace eroica {

class SequenceRanges {
 public:
  // Hostile numbers must not fill the memory: with more ranges than this, the two lowest become
  // one.
  static constexpr size_t kMostRanges = 1024;

  // False where it is in the set already.
  bool Add(uint64_t sequence) { return AddRange(sequence, sequence); }
  // Both inclusive. False, and no change, where any of it is in the set.
  bool AddRange(uint64_t first, uint64_t last);
  bool Contains(uint64_t sequence) const;
  void Remove(uint64_t sequence);
  // How many of first .. last (inclusive) are not in the set; 0 where first > last. Saturates.
  uint64_t CountMissing(uint64_t first, uint64_t last) const;
  // Calls visit(first, last) for each stretch of first .. last that is not in the set, ascending.
  template <typename Visit>
  void VisitMissing(uint64_t first, uint64_t last, Visit visit) const {
    if (first > last) return;
    uint64_t next = first;
    for (const auto& [begin, end] : ranges_) {
      if (end < next) continue;
      if (begin > last) break;
      if (begin > next) visit(next, begin - 1);
      if (end >= last) return;
      next = end + 1;
    }
    visit(next, last);
  }
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first -> last, disjoint, never adjacent
};

}  // namespace eroica
