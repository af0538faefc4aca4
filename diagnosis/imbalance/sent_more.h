// Ranks that exchange more than their peers in two windows running, told by how ranks differ within
// each of them: of two windows too little is known of how windows vary (lasting_excess.h), and
// nothing is asked of steps, which routing may make uneven for several in a row.
#pragma once

#include <vector>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

struct SentMore {
  RankIndex rank = 0;
  double chance = 1;  // that a given rank is so far above its peers in both windows
};

// By rank: those whom chance puts there in half of the jobs that looks over many windows may cost
// (LastingOptions). Of each window a t-test of the rank's bytes, as logarithms, against those of
// its role; ranks that exchange the same (tensor parallel) count once. The second window adds the
// less, the more ranks in general exchange in it what they did in the first.
std::vector<SentMore> SentMoreInTwoWindows(const CrossRankView& view);

}  // namespace eroica
