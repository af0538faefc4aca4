// Checkpoints and evaluations that no mark announces, known by what the training thread runs: a
// trace of a job that knows nothing of Eroica holds no marks of them.
//
// What runs in more than half of the steps is part of the step and no pause of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "producers/import/rank_trace.h"
#include "schemas/pause.h"

namespace eroica {

// Which pause a Python function of a well-known library is, by its name without the line
// (function_classifier.h); kNone for all others.
Pause PauseOfFunction(std::string_view name);

class PauseMarks {
 public:
  // A frame of such a function, in any order; further ones than kMostFrames are left out.
  void Add(int64_t start_ns, int64_t end_ns, uint8_t lane, Pause pause);
  // Marks the pauses of the training thread. The trace's lanes and the marks of its steps are
  // there.
  void AppendTo(RankTrace* trace);

 private:
  static constexpr size_t kMostFrames = 100'000;
  struct Frame {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint8_t lane = 0;
    Pause pause = Pause::kNone;
  };
  std::vector<Frame> frames_;
};

}  // namespace eroica
