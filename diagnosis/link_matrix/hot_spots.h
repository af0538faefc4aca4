// From hot cells of the link matrix to what they have in common (C4D, METHODS 3.2): a row is a
// sender, a column a receiver, row and column a rank's NIC or NVLink, all of several ranks a host;
// all that runs between two groups of hosts is the path that they share; a cell alone is a path
// whose ends cannot be told apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/link_matrix/link_cells.h"
#include "diagnosis/link_matrix/speed_groups.h"

namespace eroica {

// Operations differ in what they make of a port, by their protocol and size. By so much they do
// not.
inline constexpr double kMuchSlower = 0.6;

enum class HotSpotKind : uint8_t {
  kLink = 0,  // between two ranks, or what ranks of two hosts exchange
  kSender = 1,
  kReceiver = 2,
  kRank = 3,
  kSharedNic = 4,  // ranks of a host whose data goes over fewer NICs than they have
  kHosts = 5,      // whatever these hosts exchange, among each other too
  kPath = 6,       // what these hosts exchange with all others, not among each other
  kScattered = 7,  // several links that have nothing in common
};

struct HotSpot {
  HotSpotKind kind = HotSpotKind::kLink;
  Resource resource = Resource::kNic;  // of the worst cell
  // kLink: the source of the worst cell; kHosts, kPath: one of each host; kScattered: none
  std::vector<RankIndex> ranks;
  RankIndex destination = 0;         // kLink
  bool source_cleared = false;       // kLink: the source sends to others at full speed
  bool destination_cleared = false;  // kLink: the destination receives from others at full speed
  uint32_t other_hosts = 0;          // kPath: on the other side
  // kRank: times as long as its peers' that its copies between host and device take, where that
  // decided
  double copies = 0;
  std::vector<const LinkCell*> cells;  // hot, worst first
};

struct HotSpotOptions {
  double slow_share = kSlowShare;  // of the peers' speed: less is slow
  // busy time beyond the peers', of the steps' time, that one cell of a hot spot must have
  double min_share_of_step = 0.02;
  size_t fewest_compared = 0;  // cells that a slow one is judged against, itself among them
  // share of the bytes of a rank or host that must move slowly for it to be what is hot
  double whole = 0.7;
};

// Slower than its peers, by more than noise explains.
bool IsSlow(const LinkCell& cell, const HotSpotOptions& options);

// window_ns: time that the steps of the window took. Pointers into cells. Most time lost first.
std::vector<HotSpot> FindHotSpots(const CrossRankView& view, std::span<const LinkCell> cells,
                                  double window_ns, const HotSpotOptions& options);

}  // namespace eroica
