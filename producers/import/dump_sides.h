// Whether the members of an all-to-all that is in flight could meet at all. What all send together
// is what all receive together; where it is not, the plans disagree, and so they do where all
// members but one exchange the same sizes. (Of other collectives the sizes themselves are compared,
// in diagnosis/hang.)
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "producers/import/dump_launches.h"

namespace eroica {

// By job-wide group, sequence number and rank; members that agree are on side 0 and not listed.
using DumpSides = std::map<std::tuple<uint32_t, int64_t, uint32_t>, uint8_t>;

DumpSides SidesOf(const RankDumps& dumps, const DumpGroups& groups,
                  const std::map<uint32_t, RankLaunches>& launches);

}  // namespace eroica
