// The flight-recorder dumps of one job: which file belongs to which rank, and which of them say
// something of the standstill. Every file that does not is refused in the report, with the reason.
#pragma once

#include <cstdint>
#include <map>

#include "producers/import/flight_recorder_dump.h"
#include "producers/import/import_report.h"

namespace eroica {

struct RankDump {
  FlightRecorderDump dump;
  size_t file = 0;  // index into ImportReport::files
};
using RankDumps = std::map<uint32_t, RankDump>;  // by rank

// Of report->files. Two recorders of one rank (NCCL's and gloo's) are one dump; of two files of one
// recorder the later one is used, of equally late ones that which tells more, else the first.
//
// After a restart the folder still holds dumps of the attempt before. Attempts are told apart by
// time: their recordings do not overlap, and what both hold under one number lies far apart. The
// attempt of most ranks is this one; of equal ones the newest.
RankDumps ReadRankDumps(ImportReport* report);

// Refuses dumps without entries and without counters, where other ranks recorded something: the
// recorder was off, and the dump says nothing about its rank.
void DropUnrecorded(RankDumps* dumps, ImportReport* report);

}  // namespace eroica
