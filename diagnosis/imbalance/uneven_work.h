// Roles whose ranks have unequal work window after window, whoever has more. A rank that stands out
// among equal ones is lasting_excess.h's; where nearly half of the replicas have longer sequences
// than the others there is no usual rank to stand out from. What is left is that ranks differ by
// more than windows do: analysis of variance, ranks by windows (two-way layout without
// interaction), of how much longer the typical kernel of a rank takes (WorkTimesOf). Healthy
// devices differ for good by kDeviceSpread (deciding_numbers.h): ranks must differ by more.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct UnevenWorkOptions {
  // ranks of a role that do not share their inputs: of fewer, windows that are alike by chance look
  // like ranks that differ
  size_t min_independent = 6;
  // of the part with more over the other one: devices of one kind differ by less
  double min_growth = 0.03;
};

// One role, in two parts that are each as equal as they can be.
struct UnevenWork {
  std::vector<RankIndex> less;  // of the role, ascending; in big roles some of them, evenly spread
  uint32_t windows = 0;
  double growth = 0;  // of the mean of the others over theirs
  double chance = 1;
};

// By role.
std::vector<UnevenWork> FindUnevenWork(const CrossRankView& view, const UnevenWorkOptions& options);

}  // namespace eroica
