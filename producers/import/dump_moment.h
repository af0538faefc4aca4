// Whether flight-recorder dumps show that what is in flight stands still. A running job has
// collectives in flight, too, and a dump does not hold the moment at which it was written. It
// shows where
//
// - the recorder saw a time limit pass, or the plans of a collective disagree and never meet;
// - entries of the dumps are so much later than the launch of what is in flight;
// - by the time of its file a dump was written when the limit of what is in flight had passed, as
//   PyTorch's watchdog does. A file that was copied without its time has a later one: within the
//   limit the time of a file proves nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "producers/import/dump_launches.h"
#include "producers/import/dump_sides.h"
#include "producers/import/import_report.h"

namespace eroica {

enum class Standstill : uint8_t {
  kShown,     // also where nothing is in flight
  kOfCopies,  // the limit had passed long before the time of a file: it is the time of a copy
  kNotShown,
};
struct DumpStandstill {
  Standstill standstill = Standstill::kShown;
  // What is not known of the moment, why, and what would tell; each a sentence or more.
  std::vector<std::string> open;
};

DumpStandstill StandstillShownBy(const RankDumps& dumps, const DumpGroups& groups,
                                 const std::map<uint32_t, RankLaunches>& launches,
                                 const DumpSides& sides, const ImportReport& report);

}  // namespace eroica
