// Critical clocks: how long each priority has been the highest one running.
//
// The clock of a priority stands still while something more important runs, or nothing of its own.
// The critical time of an interval is therefore the clock at its end less the clock at its start.
// Clocks need no ordered list of all starts and ends: with intervals sorted by start, the union of
// a priority's intervals falls out of one pass, and its clock is that union less the unions above
// it. Owner: one CriticalPathSweep.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/function.h"

namespace eroica {

inline constexpr int kPriorityCount = kFunctionClassCount;

// Disjoint, ascending stretches of time.
struct TimeSpan {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Joins intervals that come by start.
class SpanUnion {
 public:
  void Add(int64_t begin_ns, int64_t end_ns) {
    if (!spans_.empty() && begin_ns <= spans_.back().end_ns) {
      if (end_ns > spans_.back().end_ns) spans_.back().end_ns = end_ns;
    } else {
      spans_.push_back({begin_ns, end_ns});
    }
  }
  const std::vector<TimeSpan>& spans() const { return spans_; }
  std::vector<TimeSpan>& spans() { return spans_; }
  void clear() { spans_.clear(); }

 private:
  std::vector<TimeSpan> spans_;
};

class CriticalClock {
 public:
  // own less above becomes the time in which the clock runs.
  void Set(const std::vector<TimeSpan>& own, const std::vector<TimeSpan>& above);
  // Nothing is more important: an interval's critical time is its duration, whatever the clock
  // says. Then Advance and Ahead answer with the time itself.
  bool undisturbed() const { return undisturbed_; }

  // t does not decrease from call to call since Set.
  int64_t Advance(int64_t t) {
    if (undisturbed_) return t;
    while (position_ + 1 < segments_.size() && segments_[position_ + 1].begin_ns <= t) ++position_;
    return segments_.empty() ? 0 : segments_[position_].At(t);
  }
  // t is not before the last one given to Advance. Gallops: the cost grows with the logarithm of
  // what lies between.
  int64_t Ahead(int64_t t) const { return undisturbed_ ? t : Find(t, position_); }
  // Any time; always the clock proper, also when undisturbed.
  int64_t At(int64_t t) const { return Find(t, 0); }

 private:
  struct Segment {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t before_ns;  // what the clock shows at begin_ns
    int64_t At(int64_t t) const {
      return t <= begin_ns ? before_ns : before_ns + (t < end_ns ? t : end_ns) - begin_ns;
    }
  };
  int64_t Find(int64_t t, size_t from) const;

  std::vector<Segment> segments_;
  size_t position_ = 0;
  bool undisturbed_ = true;
};

// One clock a priority.
class CriticalClocks {
 public:
  void Clear();
  // Intervals come by start. priority: CriticalPathPriority.
  void Add(int priority, int64_t begin_ns, int64_t end_ns) {
    running_[static_cast<size_t>(priority)].Add(begin_ns, end_ns);
  }
  // After the last Add.
  void Finish();
  CriticalClock& operator[](int priority) { return clocks_[static_cast<size_t>(priority)]; }
  const CriticalClock& operator[](int priority) const {
    return clocks_[static_cast<size_t>(priority)];
  }

 private:
  void Join(const std::vector<TimeSpan>& own);

  std::array<SpanUnion, kPriorityCount> running_;
  std::array<CriticalClock, kPriorityCount> clocks_;
  std::vector<TimeSpan> above_;  // union of the priorities done so far
  SpanUnion joined_;
};

}  // namespace eroica
