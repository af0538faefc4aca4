// What two hosts alone exchange has nothing of its kind to be compared with: the last stage of a
// pipeline and the first share their embeddings, nobody else does. What else goes through the same
// ports tells how fast these are. Pure.
#pragma once

#include <span>

#include "diagnosis/link_matrix/link_cells.h"
#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Network cells of a kind that lies between two hosts only, from one rank to one, all equally fast,
// are judged by the other traffic of their ports where they are much slower than it is while it is
// well; so are those of a kind of which each has an end at a rank that exchanges something else
// slowly, as where the way out of a stage of the pipeline is slow, by which all embeddings go. Both
// ports of a cell must have some. Needs communicators and channels.
void CompareWithOtherTraffic(const CrossRankView& view, std::span<LinkCell> cells);

}  // namespace eroica
