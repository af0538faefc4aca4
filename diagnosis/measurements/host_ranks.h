// The ranks of a job by the host that they run on; and those that have no peers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct HostRanks {
  std::string_view name;         // lives as long as the view
  std::vector<RankIndex> ranks;  // that reported steps, ascending
  double step_ns = 0;            // mean duration over these
};

// By name. Ranks that do not say where they run are left out. Operators ask CrossRankView::hosts().
std::vector<HostRanks> HostsOf(std::span<const RankView> ranks);

// Ranks that nobody shares a role with, each by itself: stages of a pipeline of one rank each. By
// rank.
std::vector<HostRanks> LoneRanksOf(const CrossRankView& view);

// Whether a whole host can be told from its ranks: two hosts or more, two ranks or more on each.
bool CanCompareHosts(const std::vector<HostRanks>& hosts);

}  // namespace eroica
