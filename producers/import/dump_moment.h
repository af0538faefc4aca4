// Whether flight-recorder dumps were written too early to speak of a standstill. A dump of a job
// that runs has collectives in flight, too: what tells both apart is how long they have been, and a
// dump does not hold the moment at which it was written. Its file's time does, unless it was copied
// without it; then it is later, and the job is taken for one that stands, as a watchdog's dump is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "producers/import/dump_launches.h"
#include "producers/import/import_report.h"

namespace eroica {

// A sentence or two where it is so: on each rank that has something in flight, it had been for less
// than twice the longest time between two launches of that rank, or half a second, and for less
// than its timeout (METHODS 1.4: a standstill lasts much longer than the job's own pace). Nothing
// where nothing is in flight.
std::optional<std::string> WhyNoStandstillYet(const RankDumps& dumps,
                                              const std::map<uint32_t, RankLaunches>& launches,
                                              const ImportReport& report);

}  // namespace eroica
