// Whether the times and steps that a batch names can be those of its job now. One record with a
// clock or a step from the far future would close the windows of its rank: what the rank says
// afterwards would be late, and the windows of the whole job would wait for it. Of one job.
// Owner: the task's thread.
#pragma once

#include <cstdint>

#include "schemas/drop_reason.h"
#include "schemas/event_batch.h"

namespace eroica {

class Plausibility {
 public:
  // By how much a rank's clock may be ahead of ours.
  static constexpr int64_t kMostAheadNs = int64_t{3'600} * 1'000'000'000;
  // How far ranks may be ahead of each other: so many steps, and as many more as the time since
  // then has room for. No training step is shorter.
  static constexpr int64_t kMostStepsAhead = 1'000;
  static constexpr int64_t kShortestStepNs = 100'000;

  // kNone; kAheadOfClock: something in the batch is more than kMostAheadNs later than now_ns, the
  // wall clock; kAheadOfSteps: it begins or ends a step that no rank of the job can have come to.
  // What is older is never refused: jobs of the past are diagnosed, too.
  DropReason Check(const EventBatch& batch, int64_t now_ns) const;
  // Of a batch that was taken.
  void Learn(const EventBatch& batch);
  // The rank had come to the step at this time of its own clock, as the store has it.
  void LearnStep(int64_t step, int64_t time_ns);

 private:
  int64_t newest_step_ = -1;  // that any rank has come to, and when
  int64_t newest_step_ns_ = 0;
};

}  // namespace eroica
