// Finds out which collectives of different ranks are one and the same: gives each CollectiveCall a
// communicator and a sequence number that are equal on all members. What the traces (or
// flight-recorder dumps) state is taken; what they do not is taken from the order of the calls, and
// only where all ranks agree on that order. A wrong match would blame the wrong rank: where they do
// not agree the calls stay unmatched, and a warning says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "producers/import/rank_trace.h"
#include "producers/import/stated_numbers.h"
#include "schemas/ids.h"

namespace eroica {

struct MatchReport {
  uint64_t matched = 0;
  uint64_t unmatched = 0;
  bool ends_standing = false;  // the traces end in a standstill of the job
  bool ends_apart = false;     // or in collectives that only some have launched, and that never ran
  std::vector<std::string> warnings;
};

// Equal on all members of a group.
CommId CommunicatorId(const JobId& job, const ProcessGroup& group);

// Fills communicator and sequence of all calls that ended, RankTrace::communicators, and what ranks
// wait in where the traces end in a standstill (standing_end.h): every peer and member in them is
// of this world. Traces have distinct ranks; groups and peers of another world count as unknown.
MatchReport MatchCollectives(const JobId& job, const World& world,
                             std::span<RankTrace* const> traces);

}  // namespace eroica
