// What the differential comparison says: of a rank's function, and of a function among the ranks of
// a role.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/cross_rank_view.h"
#include "diagnosis/differential/peer_sample.h"

namespace eroica {

enum class PatternDimension : uint8_t { kBeta = 0, kMu = 1, kSigma = 2 };

// A function on a rank that differs from the rank's peers, those of its role. Ranks that lack the
// function are peers with beta 0.
struct DifferentialScore {
  FunctionId function;
  RankIndex rank = 0;
  uint32_t role = 0;
  const FunctionPattern* pattern = nullptr;
  bool distant = false;  // Delta is above its threshold and a dimension confirms it
  bool tight = false;    // a dimension alone is far off, and the peers are close together in it
  double delta = 0;      // share of the sample that is far away
  double delta_median = 0;
  double delta_mad = 0;
  double delta_threshold = 0;
  uint32_t sample_size = 0;
  PatternDimension dimension = PatternDimension::kBeta;  // that deviates most
  double deviation = 0;  // in it, robust standard deviations; negative: below the peers
  PatternPoint own{};    // beta, mu, sigma
  PatternPoint peers_median{};
  double beta_excess = 0;  // own beta - the peers' median
  int64_t critical_ns = 0;
  int64_t critical_excess_ns = 0;   // over the peers' median
  double expectation_distance = 0;  // D; 0: within the range of its class
  uint32_t peers = 0;               // other ranks of the role
};

// One function among the ranks of one role: what its scores were measured against.
struct RoleComparison {
  FunctionId function;
  uint32_t role = 0;
  uint32_t members = 0;  // ranks of the role that reported; silent ranks are nobody's peers
  uint32_t running = 0;  // of these, ranks that ran the function
  uint32_t sample_size = 0;
  double delta_median = 0;
  double delta_mad = 0;
  double delta_threshold = 0;
  PatternPoint median{};
  // ranks that differ; scores are kept for DifferentialOptions::max_scores of them
  uint32_t flagged = 0;
  // ranks with beta over the minimum and outside the range of the class: common to all when near
  // `members`
  uint32_t unexpected = 0;
  double expectation_distance_mean = 0;  // over these
};

struct DifferentialResult {
  // largest critical excess first, then Delta; ties by function, then rank
  std::vector<DifferentialScore> scores;
  // by function, then role; without functions that nowhere reach the least beta
  std::vector<RoleComparison> comparisons;
};

}  // namespace eroica
