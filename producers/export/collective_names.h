// Collectives and process groups in the words of PyTorch's traces (2.4 and newer, which state them
// beside NCCL's kernels).
#pragma once

#include <string>

#include "schemas/event_batch.h"

namespace eroica {

// "Collective name" and its companions, without braces. rank: whose trace it is.
void AppendCollectiveArgs(const Communicator& communicator, const Collective& collective,
                          RankId rank, std::string* json);
// An entry of pg_config.
void AppendProcessGroup(const Communicator& communicator, std::string* json);

}  // namespace eroica
