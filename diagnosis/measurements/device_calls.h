// What single calls of kernels take on the devices of a place that has no peers: a host that holds
// all ranks of a role, such as a pipeline stage, or a rank that nobody shares a role with. What
// such a place is like now says little; how it has changed, while others have not, says a lot. So
// it is kept window by window.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/measurements/host_ranks.h"

namespace eroica {

struct Place {
  std::string key;  // the same in every window
  HostRanks ranks;
};

// Ranks without peers, each by itself, then hosts; none where there are fewer than two or more than
// kMostPlaces of them.
inline constexpr size_t kMostPlaces = 64;
std::vector<Place> PlacesWithoutPeers(const CrossRankView& view);

// A row for each of the heaviest kernels and each place, by FunctionId: name is the kernel's, stack
// the place's key, mean and histogram those of all calls of its ranks; critical_ns a STEP, mean
// over the ranks, mu likewise.
std::vector<FunctionPattern> DeviceCallsOf(const CrossRankView& view);

}  // namespace eroica
