// Which pairs of ranks, and which rings, to route around a slow place until it is mended, and by
// which ports of the same host, as C4P shifts load away from a link (METHODS 3.3). Pure.
#pragma once

#include <span>
#include <string>

#include "diagnosis/link_matrix/hot_spots.h"

namespace eroica {

// A sentence or two, for the finding's suggested action. cells: all of the window, as MeasureLinks
// answers them; options: what is slow.
std::string RouteAdvice(const CrossRankView& view, const HotSpot& spot,
                        std::span<const LinkCell> cells, const HotSpotOptions& options);

}  // namespace eroica
