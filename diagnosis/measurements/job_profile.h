// What a job was like in one window: the typical rank of it. The job's own past is a row of such
// profiles; they answer what no comparison of ranks can, since a fault that strikes all ranks
// equally makes nobody differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// How many windows of the past are kept.
inline constexpr size_t kProfilesKept = 32;

// steps: each with the medians over the ranks of its duration and peer wait. patterns: the
// functions that take at least 0.2 % of a step, critical_ns a STEP (median over the ranks that run
// it), total_ns likewise of the role that it takes most on, count = how many ranks run it; and one
// row of TransferOfCollectives().
// connections: one row a kind, that is resource, channels and size of the communicator (peer: its
// other members, 0 where it is not known); bytes a step of all of them, busy_ns what these take at
// the median speed. Everything else is empty. rank is 0 and means nobody. Operators ask
// CrossRankView::profile().
PatternBatch ProfileOf(const CrossRankView& view, std::vector<StepRecord> typical_steps);

// The steps of a profile. Ranks are added while their steps are at hand, since all steps of all
// ranks are far more than any cache holds.
class TypicalSteps {
 public:
  explicit TypicalSteps(size_t ranks) : ranks_(ranks) {}
  void Add(const PatternBatch& batch);
  std::vector<StepRecord> Take();  // what was added is gone then

 private:
  struct Times {
    std::vector<int64_t> duration_ns;
    std::vector<int64_t> peer_wait_ns;
  };
  const size_t ranks_;
  std::map<int64_t, Times> by_step_;
};

// The row that says for how long data moved a step: shortest durations of the collectives, which
// hold no waiting for late members; mean over the ranks.
FunctionId TransferOfCollectives();
inline constexpr std::string_view kTransferOfCollectives = "transfer of collectives";

// Critical time a step of the function in the profile, 0 where it is not in it.
double FunctionNsOf(const PatternBatch& profile, FunctionId function);
// The same on the typical rank of the role that it takes most on: in a pipeline what all stages run
// may be critical on one alone.
double FunctionNsOnStage(const PatternBatch& profile, FunctionId function);

}  // namespace eroica
