// Groups of hosts that exchange data at full speed within and slowly between them. Pure.
#pragma once

#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace eroica {

// What two hosts exchange, both ways together.
struct HostPair {
  std::string_view one;
  std::string_view other;
  bool slow = false;
};

// The hosts on one side of a slow path, where all slow pairs lie between them and the others, none
// within either side, and each side has a pair at full speed: it is the side with fewer hosts, of
// equally many the one whose first host comes first in `order`. Empty where there is no such path.
std::set<std::string_view> FindSlowSide(std::span<const HostPair> pairs,
                                        std::span<const std::string_view> order);

}  // namespace eroica
