// How long a step waited for other ranks: the time in which collectives are the most important
// thing that runs, or the host function that holds the critical path only waits for peers. A moment
// counts once, however many lanes wait in it. Also how long the rank waited in a stretch of time by
// such functions alone: what is exposed of an operation that is under way beside what the rank
// runs. Owner: one CriticalPathSweep.
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
  // After Finish: by functions that wait, within [begin, end).
  int64_t Within(int64_t begin_ns, int64_t end_ns) const {
    int64_t ns = 0;
    for (const Waited& waited : waited_) ns += waited.Until(end_ns) - waited.Until(begin_ns);
    return ns;
  }

 private:
  // Of one priority, disjoint and ascending.
  class Waited {
   public:
    void Join(std::vector<TimeSpan>& waits, const CriticalClock& clock);
    int64_t Until(int64_t t) const;
    const std::vector<TimeSpan>& spans() const { return spans_.spans(); }
    void Clear();

   private:
    SpanUnion spans_;
    std::vector<int64_t> before_;  // by span: time on the clock in all spans before it
    const CriticalClock* clock_ = nullptr;
  };

  std::array<std::vector<TimeSpan>, kPriorityCount> waits_;
  std::array<Waited, kPriorityCount> waited_;
};

}  // namespace eroica
