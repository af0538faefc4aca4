// In a hang of the communication: over which connections data is under way and does not arrive, and
// what they have in common (Aegis: work requests posted and not completed, METHODS 3.4; C4D: the
// stalled connection, METHODS 3.2; Mycroft: progress inside a collective). In a ring that stands
// still only the transport that broke has sends outstanding: everybody else waits for data that
// does not come, with nothing posted. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/hang/wait_graph.h"

namespace eroica {

struct StalledConnection {
  RankId source;
  RankId destination;
  Resource resource = Resource::kNic;
  int64_t busy_ns = 0;
  friend bool operator==(const StalledConnection&, const StalledConnection&) = default;
};

enum class StallPlace : uint8_t {
  kUnknown = 0,    // nothing is known of the connections, or all of them are idle
  kRank = 1,       // all stalled connections end at one rank, and at two others at least
  kLink = 2,       // all lie between two ranks: which end, or what between them, is undecided
  kHost = 3,       // all end at one host
  kScattered = 4,  // nothing in common: undecided
};

struct Stall {
  StallPlace place = StallPlace::kUnknown;
  std::vector<StalledConnection> connections;  // by source, destination, resource
  // kRank: it; kLink: its two ends, the sending one first; kHost: its ranks that have stalled
  // connections
  std::vector<RankId> culprits;
};

// Of the operations' members among each other.
Stall FindStall(const WaitGraph& graph, const std::vector<uint32_t>& operations);

}  // namespace eroica
