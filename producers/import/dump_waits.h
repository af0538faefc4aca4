// What each rank has in flight by its flight-recorder dump, and for how long it had stood when the
// last entry that tells of it was made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "producers/import/dump_launches.h"

namespace eroica {

struct DumpWait {  // of a rank
  struct Operation {
    uint32_t group = DumpGroups::kNone;
    int64_t sequence = -1;
    int64_t created_ns = 0;
    int64_t limit_ns = 0;  // its timeout; PyTorch's longest default where the dump has none
    int64_t stood_ns = 0;  // at the least, by entries of the dumps
    CollectiveOperation operation = CollectiveOperation::kUnknown;
  };

  // A limit has passed, the recorder saw that it did, or it has lasted much longer than anything
  // the rank has done before.
  bool ShowsStandstill() const;

  std::vector<Operation> in_flight;
  int64_t last_ns = 0;     // the last entry of the rank's dump
  int64_t longest_ns = 0;  // between two launches, or from a launch to its end; 0: not known
  bool given_up = false;   // the recorder saw a limit pass
};

// By rank; those with nothing in flight are left out.
std::map<uint32_t, DumpWait> DumpWaitsOf(const RankDumps& dumps, const DumpGroups& groups,
                                         const std::map<uint32_t, RankLaunches>& launches);

// "The oldest of it is all_reduce number 21 of group 0, which ranks 0 and 1 launched, and rank 2
// did not."
std::string OldestInFlightText(const std::map<uint32_t, DumpWait>& waits, const DumpGroups& groups,
                               const std::map<uint32_t, RankLaunches>& launches);

}  // namespace eroica
