// Ranks of which too little is told to judge them, over the windows of one job. Claim, evidence and
// silence: README.md beside this file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/diagnosis_state.h"
#include "schemas/finding.h"

namespace eroica {

struct TelemetryGapOptions {
  // of a rank's steps: what a transport that is well loses at the very most
  double accidental_share = 0.02;
  double min_share = 0.1;  // with less missing a rank is judged nearly as well as its peers
  double min_unseen = 3;   // steps
  double min_steps = 7.5;  // that the job ran: two windows of four, as they weigh
  // that accidents alone look so, over all ranks: by how many there are, and by whom they hit
  double false_alarms = 1e-4;
  // older ones are forgotten: each window weighs 1 - 1/32 of what the next one does
  double windows_kept = 32;
};

// Of one job. One thread; knows no clock.
class TelemetryGaps {
 public:
  explicit TelemetryGaps(TelemetryGapOptions options = {}) : options_(options) {}

  // Counts the window in. Answers the finding while some ranks' telemetry has gaps; it names no
  // culprit and has neither id nor state.
  std::optional<Finding> Observe(const CrossRankView& view);

  // For the state store: after Restore(State()) it goes on where it was.
  TelemetryGapsState State() const;
  void Restore(TelemetryGapsState state);

 private:
  using Gap = TelemetryGap;
  struct Unseen {
    size_t steps = 0;
    size_t runs = 0;
  };
  struct Listed {
    RankId rank;
    const Gap* gap = nullptr;
    double share = 0;
  };

  void Count(const CrossRankView& view);
  // How many of the steps the rank's telemetry lacks. Notes who is heard of. begins: in the first
  // window of all, in which nobody joins.
  Unseen Hear(const RankView& rank, std::span<const int64_t> steps, bool begins);
  void Forget();
  double UsualShare(uint32_t world_size) const;
  double AccidentalShare(uint32_t world_size) const;
  double StepsOfALoss() const;
  double AllowedFor(size_t others) const;
  bool ComeToFewRanks(const std::vector<Listed>& listed, uint32_t world_size) const;
  bool AreNoAccidents(const std::vector<Listed>& listed, uint32_t world_size) const;
  std::vector<Listed> FindGaps(const CrossRankView& view) const;
  Finding Describe(const CrossRankView& view, const std::vector<Listed>& listed) const;

  TelemetryGapOptions options_;
  double steps_ = 0;  // that the job ran, weighted by age
  std::map<RankId, Gap> gaps_;
  // told of a step, ever: who joins later misses nothing of what was before
  std::set<RankId> heard_;
  // said their last word: a job that became smaller misses nothing of them
  std::set<RankId> ended_;
};

}  // namespace eroica
