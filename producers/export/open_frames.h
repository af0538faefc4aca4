// The Python frames that are open on one thread while its events are written out: who called whom,
// by the ids that a trace names frames with.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/ids.h"

namespace eroica {

struct OpenFrame {
  FunctionId function;  // with its callers
  int64_t end_ns = 0;
  uint32_t id = 0;  // within the rank's trace, from 1
};

class OpenFrames {
 public:
  // Forgets what has ended by then.
  void LeaveUntil(int64_t time_ns) {
    while (!frames_.empty() && frames_.back().end_ns <= time_ns) frames_.pop_back();
  }
  // The innermost open frame of the function; nullptr where there is none.
  const OpenFrame* Find(FunctionId function) const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (frame->function == function) return &*frame;
    }
    return nullptr;
  }
  void Enter(const OpenFrame& frame) { frames_.push_back(frame); }

 private:
  std::vector<OpenFrame> frames_;  // outermost first
};

}  // namespace eroica
