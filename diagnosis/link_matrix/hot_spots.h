// From hot cells of the link matrix to what they have in common (C4D, METHODS 3.2): a row is a sender, a column a receiver, row and column a rank's NIC or NVLink, all
// of several ranks a host; a cell alone is a path whose ends cannot be told apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/link_matrix/link_cells.h"

namespace eroica {

enum class HotSpotKind : uint8_t { kLink = 0, kSender = 1, kReceiver = 2, kRank = 3, kHosts = 4 };

struct HotSpot {
  HotSpotKind kind = HotSpotKind::kLink;
  Resource resource = Resource::kNic;
  std::vector<RankIndex> ranks;        // kLink: the source; kHosts: one of each host
  RankIndex destination = 0;           // kLink
  std::vector<const LinkCell*> cells;  // hot, worst first
};

struct HotSpotOptions {
  double slow_share = 0.8;          // of the peers' speed: less is slow
  double min_deviations = 6;        // of the peers' spread that it must lie below
  double min_share_of_step = 0.02;  // busy time beyond the peers', of the steps' time
  double whole = 0.7;               // share of a rank's or host's cells that must be hot for it to be what is hot
};

// window_ns: time that the steps of the window took. Pointers into cells. Most time lost first.
std::vector<HotSpot> FindHotSpots(const CrossRankView& view, std::span<const LinkCell> cells, double window_ns,
                                  const HotSpotOptions& options);

}  // namespace eroica
