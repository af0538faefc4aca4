// In how many training steps of the window a function was on the critical path. Owner: one CriticalPathSweep.
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
  // steps: ascending, disjoint; lives until Finish.
  void Start(std::span<const StepSpan> steps);
  bool wanted() const { return !steps_.empty(); }

  // The function was the leaf of its priority in [begin, end); the clock ran in it.
  void Add(uint32_t function, int64_t begin_ns, int64_t end_ns, const CriticalClock& clock) {
    const StepSpan& step = steps_[position_];
    if (begin_ns >= step.begin_ns && end_ns <= step.end_ns) {
      Note(function, position_);
    } else {
      AddAcross(function, begin_ns, end_ns, clock);
    }
  }
  // Calls visit(function) once for each step in which the function was active.
  template <typename Visit>
  void Finish(Visit visit) {
    Deduplicate();
    for (uint64_t entry : entries_) visit(static_cast<uint32_t>(entry >> 32));
  }

 private:
  void AddAcross(uint32_t function, int64_t begin_ns, int64_t end_ns, const CriticalClock& clock);
  void Deduplicate();
  void Note(uint32_t function, size_t step) {
    if (last_step_.size() <= function) last_step_.resize(function + size_t{1}, 0);
    if (last_step_[function] == generation_ + step) return;
    last_step_[function] = generation_ + step;
    entries_.push_back(uint64_t{function} << 32 | static_cast<uint32_t>(step));
  }

  std::span<const StepSpan> steps_;
  size_t position_ = 0;             // segments come nearly in time order: the step of the last one is looked at first
  uint64_t generation_ = 1;         // steps of all windows so far, so that last_step_ needs no clearing
  std::vector<uint64_t> last_step_;  // by function: generation_ + step of its newest entry
  std::vector<uint64_t> entries_;    // function << 32 | step
};

}  // namespace eroica
