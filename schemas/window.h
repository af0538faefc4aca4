// A window of one rank: a stretch of event time, or of training steps. Half open, [start, end).
#pragma once

#include <cstdint>

namespace eroica {

// kTime: [index * size, (index + 1) * size) of the rank's own clock. kSteps: training steps [index
// * k, (index + 1) * k), the same on every rank whatever the clocks say. Windows of different ranks
// meet when kind and index are equal; their times are never compared. Where windows of steps have
// an offset, StepWindows says which steps are whose.
enum class WindowKind : uint8_t { kTime = 0, kSteps = 1 };
inline constexpr int kWindowKindCount = 2;

// Windows of `size` training steps, of which one begins at step `offset`; offset < size. Indices
// ascend from 0 at the window of step 0, which is shorter where there is an offset.
struct StepWindows {
  int64_t size = 1;
  int64_t offset = 0;

  int64_t IndexOf(int64_t step) const { return (step + before_zero()) / size; }
  int64_t FirstStepOf(int64_t index) const { return index * size - before_zero(); }

 private:
  int64_t before_zero() const { return offset > 0 ? size - offset : 0; }
};

struct Window {
  WindowKind kind = WindowKind::kTime;
  int64_t index = 0;
  int64_t start_ns = 0;  // the rank's own clock
  // for kSteps: from the begin of the first step to the end of the last step that the rank ran in
  // the window
  int64_t end_ns = 0;
  int64_t first_step = -1;  // training steps seen in the window, inclusive; -1 where there is none
  int64_t last_step = -1;

  int64_t duration_ns() const { return end_ns - start_ns; }
  friend bool operator==(const Window&, const Window&) = default;
};

}  // namespace eroica
