// Where all ranks of a job stand at one moment: what the hang operator looks at. Built from the
// ranks' own reports; no clock, no store.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/rank_standing.h"

namespace eroica {

struct HangView {
  JobId job;
  uint32_t world_size = 0;
  std::vector<const RankStanding*> standings;  // by rank, one each; live as long as the view
  // of whom nothing is heard any more, ascending; none of them has a standing
  std::vector<RankId> silent;
};

}  // namespace eroica
