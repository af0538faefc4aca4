// How long a step waited for other ranks: the time in which collectives are the most important
// thing that runs, or the host function that holds the critical path only waits for peers. A moment
// counts once, however many lanes wait in it. Owner: one CriticalPathSweep.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/critical_clock.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

class PeerWait {
 public:
  void Clear();
  // A host function that waits for peers was the leaf of its lane in [begin, end).
  void Add(int priority, int64_t begin_ns, int64_t end_ns) {
    waits_[static_cast<size_t>(priority)].push_back({begin_ns, end_ns});
  }
  // One record a step.
  void Finish(std::span<const StepSpan> steps, const CriticalClocks& clocks,
              int collective_priority, std::vector<StepRecord>* out);

 private:
  std::array<std::vector<TimeSpan>, kPriorityCount> waits_;
};

}  // namespace eroica
