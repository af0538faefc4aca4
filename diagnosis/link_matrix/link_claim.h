// What the link matrix claims of a hot spot, in words and numbers. Pure.
#pragma once

#include "diagnosis/link_matrix/hot_spots.h"
#include "schemas/finding.h"

namespace eroica {

// Steps and time of the window, means over the ranks that have steps.
struct WindowTime {
  double ns = 0;
  double steps = 0;
  // a step, by any rank: a connection's excess beyond it is hidden behind work
  double most_waited_ns = 0;
};
WindowTime TimeOf(const CrossRankView& view);

Finding DescribeHotSpot(const CrossRankView& view, const HotSpot& spot, const WindowTime& time,
                        const HotSpotOptions& options);

}  // namespace eroica
