// Whether flight-recorder dumps were written too early to show a standstill. A running job has
// collectives in flight, too: only their age tells both apart. A dump does not hold the moment at
// which it was written; the time of its file does. A copy without that time has a later one, and is
// read as the dump of a hang, as a watchdog writes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "producers/import/dump_launches.h"
#include "producers/import/import_report.h"

namespace eroica {

// A sentence or two where it is so: on each rank with operations in flight, the oldest was younger
// than twice the longest time between two launches of that rank, or than half a second, and than
// its timeout (METHODS 1.4: a standstill lasts much longer than the job's own pace). Nothing where
// no operation is in flight.
std::optional<std::string> WhyNoStandstillYet(const RankDumps& dumps,
                                              const std::map<uint32_t, RankLaunches>& launches,
                                              const ImportReport& report);

}  // namespace eroica
