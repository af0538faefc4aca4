// What one rank's standing says of an operation in which another rank waits. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/rank_standing.h"

namespace eroica {

struct HungOperation;

// The index of the communicator in the standing; nothing where the rank does not know it.
std::optional<uint16_t> PlaceOf(const RankStanding& standing, CommId communicator);

enum class Share : uint8_t {
  kInFlight,  // launched, not ended
  kNotLaunched,
  kThrough,  // ended
};
Share ShareIn(const RankStanding& standing, const HungOperation& operation);

// Of a flight recorder, which numbers all kinds of collectives together: the first number that the
// rank has not launched on the communicator.
uint64_t NumbersBelow(const RankStanding& standing, CommId communicator);

// How many the rank has launched of the operation's kind, as far as its numbers go.
uint64_t LaunchedBelow(const RankStanding& standing, const HungOperation& operation);

// How long the rank has stood. A trace's last step may end with the trace, and the rank has not got
// on since the launch of what it is in.
int64_t StoodNs(const RankStanding& standing);

}  // namespace eroica
