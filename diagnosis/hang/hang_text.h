// Ranks and operations as people read them, in the sentences about a hang.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/hang/wait_graph.h"

namespace eroica {

// "rank 3", "ranks 0 to 7 and 9", "ranks 0, 2, 5 and 1,021 more".
std::string RanksText(const std::vector<RankId>& ranks);
// "all_reduce number 41 of group dp (data parallel)", "the send from rank 2 to rank 5 over pp".
std::string OperationText(const HungOperation& operation);
std::string CommunicatorText(const Communicator& communicator);

}  // namespace eroica
