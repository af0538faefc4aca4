// In how many training steps of the window a function was on the critical path. Functions times
// steps must not fill the memory: beyond kMostEntries what reaches across steps is not counted.
// Owner: one CriticalPathSweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stream_ops/pattern/critical_clock.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

class StepActivity {
 public:
  static constexpr size_t kMostEntries = size_t{1} << 24;

  explicit StepActivity(size_t most_entries = kMostEntries) : most_entries_(most_entries) {}

  // steps: ascending, disjoint; lives until Finish.
  void Start(std::span<const StepSpan> steps);
  bool wanted() const { return !steps_.empty(); }

  // The function was the leaf of its priority in [begin, end); the clock ran in it. mark: kept for
  // the function, 0 at the start.
  void Add(uint32_t function, int64_t begin_ns, int64_t end_ns, const CriticalClock& clock,
           uint32_t* mark) {
    const StepSpan& step = steps_[position_];
    if (begin_ns >= step.begin_ns && end_ns <= step.end_ns) {
      Note(function, position_, mark);
    } else {
      AddAcross(function, begin_ns, end_ns, clock, mark);
    }
  }
  void Finish(size_t functions);
  // After Finish: in how many steps it was active.
  uint32_t Of(uint32_t function) const { return counts_[function]; }

 private:
  bool full() const { return entries_.size() >= most_entries_; }
  void AddAcross(uint32_t function, int64_t begin_ns, int64_t end_ns, const CriticalClock& clock,
                 uint32_t* mark);
  // The mark, the step before of the function, spares most of the repetitions. Where a function
  // goes back to an earlier step, Finish looks for the rest.
  void Note(uint32_t function, size_t step, uint32_t* mark) {
    if (*mark == step + 1) return;
    if (*mark > step + 1) went_back_.push_back(function);
    *mark = static_cast<uint32_t>(step + 1);
    entries_.push_back(uint64_t{function} << 32 | static_cast<uint32_t>(step));
  }

  size_t most_entries_;
  std::span<const StepSpan> steps_;
  // segments come nearly in time order: the step of the last one is looked at first
  size_t position_ = 0;
  std::vector<uint64_t> entries_;    // function << 32 | step
  std::vector<uint32_t> went_back_;  // functions, some of them several times
  std::vector<uint32_t> counts_;     // by function
};

}  // namespace eroica
