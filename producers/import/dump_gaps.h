// What flight-recorder dumps leave open: nothing is in flight in any of them, a rank came to a
// collective when others had given it up, dumps that were written at different moments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "producers/import/dump_launches.h"

namespace eroica {

// Each a sentence or two: what is not known, why, and what would tell.
std::vector<std::string> WhatDumpsLeaveOpen(const RankDumps& dumps, const DumpGroups& groups,
                                            const std::map<uint32_t, RankLaunches>& launches);

}  // namespace eroica
