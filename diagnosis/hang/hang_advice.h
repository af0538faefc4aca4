// What to look at where a job stands still, by the library that moves the data of the group that
// hangs: NCCL's switches and errors of devices help nobody whose data goes over gloo or MPI. Of a
// library that is not recorded it is what fits all. Pure.
#pragma once

#include <string>
#include <string_view>

#include "schemas/event_batch.h"

namespace eroica {

// What may have taken a process away: "out of memory, Xid, host down".
std::string_view LossesOfProcess(CollectiveLibrary library);

// The device of these ranks does not make progress.
std::string AdviceOnDevice(CollectiveLibrary library, std::string_view ranks);

// All members have launched the operation, it does not end, and nothing says where it has begun.
// of_dumps: of a flight recorder.
struct StalledWords {
  std::string_view suspects;     // "a device or the network"
  std::string_view explanation;  // behind "ranks 0 and 1 launched it."
  std::string_view caveat;
  std::string_view action;
};
StalledWords WordsOnStalled(CollectiveLibrary library, bool of_dumps);

// All members are in the transfer, it does not end, and no connection is recorded that shows why.
// host: of all members, where it is one; else empty.
std::string AdviceOnTransfer(CollectiveLibrary library, std::string_view host);
// What would show which link it is.
std::string_view EvidenceOfTransfer(CollectiveLibrary library);

}  // namespace eroica
