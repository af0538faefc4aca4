// Whether the times and steps that a batch names can be those of its job now. One record with a
// clock or a step from the far future would close the windows of its rank: what the rank says
// afterwards would be late, and the windows of the whole job would wait for it. Of one job.
// Owner: the task's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "schemas/drop_reason.h"
#include "schemas/event_batch.h"

namespace eroica {

class Plausibility {
 public:
  // By how much a rank's clock may be ahead of ours.
  static constexpr int64_t kMostAheadNs = int64_t{3'600} * 1'000'000'000;
  // What is ahead of our clock by more than this must follow upon what the rank has sent, at no
  // greater distance. Clocks that are synchronized differ by far less.
  static constexpr int64_t kMostLeapNs = int64_t{60} * 1'000'000'000;
  // How far ranks may be ahead of each other: so many steps, and as many more as the time since
  // then has room for. No training step is shorter.
  static constexpr int64_t kMostStepsAhead = 1'000;
  static constexpr int64_t kShortestStepNs = 100'000;

  // kAheadOfClock: something in the batch is more than kMostAheadNs later than now_ns, the wall
  // clock when it arrived; or more than kMostLeapNs later than both the clock and the newest event
  // of its rank, and no other batch of the rank said so just before: then its clock was set.
  // kAheadOfSteps: the batch begins or ends a step that no rank of the job can have come to.
  // What is older is never refused: jobs of the past are diagnosed, too.
  DropReason Check(const EventBatch& batch, int64_t now_ns, std::optional<int64_t> newest_ns);
  // Of a batch that was taken.
  void Learn(const EventBatch& batch);
  // The rank had come to the step at this time of its own clock, as the store has it.
  void LearnStep(int64_t step, int64_t time_ns);

 private:
  // Which batch it was.
  using BatchName = std::tuple<std::string, uint32_t, uint64_t>;  // producer, process, sequence

  bool Leaps(const EventBatch& batch, int64_t latest_ns, int64_t now_ns, int64_t newest_ns);

  std::map<RankId, BatchName> leapt_;  // the rank's last batch, where it was refused for its leap
  int64_t newest_step_ = -1;           // that any rank has come to, and when
  int64_t newest_step_ns_ = 0;
};

}  // namespace eroica
