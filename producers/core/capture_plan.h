// What shall be captured in which step: the level that the process was started with, and windows of
// steps for which somebody asked for more (Control). A window begins and ends with the same step on
// all ranks: the gate before the rings opens a little early and closes a little late, and what was
// taken outside the window's steps is cut off here, by when those steps began.
//
// Pure. Owner: the emitter's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "schemas/control.h"

namespace eroica {

class CapturePlan {
 public:
  static constexpr size_t kMostWindows = 16;        // at once; further requests are refused
  static constexpr int64_t kLongestWindow = 1'000;  // steps; longer ones are cut

  explicit CapturePlan(CaptureLevel base) : base_(base) {}

  // False: refused (expired, turned around, too many), or known already.
  bool Add(const Control& control, int64_t now_ns);
  // Each step's begin, ascending.
  void StepBegan(int64_t step, int64_t time_ns);

  // What the gate before the rings shall let through at this moment: steps_ahead: that may begin
  // before the gate is set again.
  CaptureLevel Gate(int64_t steps_ahead, int64_t now_ns);
  // A window is open, or about to: Python may be traced in full.
  bool WantsFullTrace() const { return open_or_near_; }
  // Whether an event that is neither a mark nor a collective, and that started then, is to be kept.
  bool Keeps(int64_t start_ns) const;

  CaptureLevel base() const { return base_; }

 private:
  struct Window {
    Control control;
    int64_t begin_ns = 0;  // of its first step; 0: not begun
    int64_t end_ns = 0;    // of the step after its last; 0: not ended
  };

  const CaptureLevel base_;
  int64_t step_ = -1;
  bool open_or_near_ = false;
  std::deque<Window> windows_;
};

}  // namespace eroica
