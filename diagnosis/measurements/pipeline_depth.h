// Which pipeline stage a rank is, read from who sends to whom: a pipeline is a path of ranks, or a
// ring with one weaker edge where its schedule is interleaved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/collective_summary.h"
#include "schemas/ids.h"

namespace eroica {

inline constexpr int32_t kUnknownDepth = -1;

struct PipelineDepths {
  // Of each of the ranks, 0 for the first stage; kUnknownDepth where point-to-point traffic does
  // not show it. All unknown unless most of the paths are equally long: shorter ones (a rank is
  // missing) say nothing of depth. Forward and backward traffic look the same, so the end with the
  // smaller rank number counts as the first stage, as every framework numbers them.
  std::vector<int32_t> of_ranks;
  // Paths of unequal length, of which no two have the one that is taken for the whole, or none is:
  // a single pipeline of which messages were lost looks so, and its longest piece like all of it.
  bool may_be_pieces = false;
};

// ranks: ascending.
PipelineDepths ReadPipelineDepths(std::span<const RankId> ranks,
                                  std::span<const CollectiveSummary> summaries);

}  // namespace eroica
