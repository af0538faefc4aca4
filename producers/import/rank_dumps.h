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
// recorder the one that tells more is used, else the first.
RankDumps ReadRankDumps(ImportReport* report);

// A job that was started again leaves the dumps of the attempt before, where a rank wrote none in
// this one. Told by time: what both hold under one number lies far apart, and their recordings do
// not overlap. The larger half of the ranks is this attempt, of two equal ones the newer.
void DropOtherAttempts(RankDumps* dumps, ImportReport* report);

// A recorder that was off leaves a dump without entries and without counters: where others recorded
// something it tells nothing of its rank.
void DropUnrecorded(RankDumps* dumps, ImportReport* report);

}  // namespace eroica
