// Which of the two ends of a slow path between hosts is to blame, by what else of theirs is slow: a
// NIC shares its PCIe slot with the copies between host and device, and a device feeds its NIC and
// its NVLink. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/link_matrix/hot_spots.h"

namespace eroica {

class LinkEnds {
 public:
  LinkEnds(const CrossRankView& view, std::span<const LinkCell> cells,
           const HotSpotOptions& options);

  // A link whose slow cells all lie between two ranks becomes the rank's of which something else is
  // slow, where it is one of the two only: of a link within a host what it exchanges with a third
  // rank, and nobody else does likewise.
  void Decide(HotSpot& spot) const;

 private:
  // How many times as long its copies take as the median of the others of its role; 0 where nothing
  // is known, or where the difference is small or within the noise.
  double CopiesOf(RankIndex rank) const;

  void FindSlowWithThird(std::span<const LinkCell> cells);

  std::vector<double> copies_;   // a step, ns, by rank
  std::vector<uint32_t> roles_;  // of each rank
  // whether what has no peers is much slower than whatever else the port at the other end moves
  std::vector<bool> slow_with_third_;
  std::vector<bool> slow_inside_;  // whether what the rank exchanges within its host is slow
};

}  // namespace eroica
