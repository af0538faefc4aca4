// What the hang operator claims of one root of a wait graph, before it is put into words. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnosis/hang/stalled_connections.h"
#include "diagnosis/hang/wait_graph.h"

namespace eroica {

enum class HangKind : uint8_t {
  kNeverLaunched,  // the rank has nothing in flight that it waits in, and others wait for it
  kSilent,         // likewise, and it says nothing any more
  // it has launched what the others wait in, or have behind them, and its own device does not get
  // on
  kDevice,
  kMismatch,  // ranks wait for each other in different operations, or in one of different sizes
  kCommunication,  // all members are in the operation, and it does not end
  // All members have launched the operation, and it does not end; whether it has started on all of
  // their devices nobody recorded, so that a device or the communication may be why.
  kStalled,
};
// The finding's subkind.
std::string_view ToString(HangKind kind);

struct HangClaim {
  HangKind kind = HangKind::kNeverLaunched;
  std::vector<RankId> culprits;  // ascending; none where all take part in the same way
  std::vector<RankId> others;    // of a mismatch: those that are in it with the culprits
  // that stand still because of it, the one with most ranks first
  std::vector<uint32_t> operations;
  // of a mismatch: neither side is the smaller one, and the past does not tell
  bool undecided = false;
  // Of ranks that never launched: as many or fewer wait for them, in the one operation by which
  // they are ahead. These may have launched one too many, as well as the culprits one too few.
  std::vector<RankId> ahead;
  // of a mismatch: neither side is the smaller one; the culprits' communicator never had their
  // operation in any step
  bool unheard_of = false;
  // of a hang of the communication, where connections are reported: the culprits are its
  Stall stall;
};

// One claim a kind: roots of one kind are one hang. A silent rank is not claimed where it is a
// member of an operation in which others are known to hold all up (it may stand there, too), nor
// beside a hang that holds up more ranks.
std::vector<HangClaim> ClaimsOf(const WaitGraph& graph);

}  // namespace eroica
