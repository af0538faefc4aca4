// What a rank ran longer than its peers: where a late rank has spent its time. Says nothing of
// whether the rank was late; a victim's waiting hides in whatever its main thread is in, so that an
// excess on a rank that waits much is no evidence (METHODS 8).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

struct ExcessOptions {
  bool skip_peer_waits = true;  // functions that wait for other ranks
  bool skip_collectives = true;
  std::optional<FunctionClass> only_class = std::nullopt;
  int64_t min_excess_ns = 1;
  // of the rank's step, or window: summarize folds functions below it, so that a peer without a row
  // may have run that much
  double min_excess_share = 0.005;
  // of a larger role an even choice, so that the cost of one question is bounded
  uint32_t max_peers = 1'024;
};

// Times are critical time per training step, or per window where the rank or a peer has no steps.
struct FunctionExcess {
  FunctionId function;
  const FunctionPattern* pattern = nullptr;  // the rank's own
  int64_t excess_ns = 0;                     // own - median of the peers
  int64_t own_ns = 0;
  int64_t peers_median_ns = 0;
  int64_t peers_max_ns = 0;
  uint32_t peers = 0;         // compared with; those that lack the function count 0
  uint32_t active_steps = 0;  // of the rank's steps, those with the function on the critical path
  uint32_t steps = 0;         // of the rank in the window; 0: times are per window
};

// By excess, largest first; ties by function. Empty where the rank has no peer in its role, is
// silent or is not in the view.
std::vector<FunctionExcess> ExcessOverPeers(const CrossRankView& view, RankIndex rank,
                                            const ExcessOptions& options = {});

// The same for all functions of a class together, those too small for a row of their own included:
// own - median of the peers, per step. Shows that a rank is slower in everything a little
// (contention), where no single function stands out.
std::array<int64_t, kFunctionClassCount> ClassExcessOverPeers(const CrossRankView& view,
                                                              RankIndex rank,
                                                              const ExcessOptions& options = {});

}  // namespace eroica
