// Sentences of findings about stalls that rotate among ranks without a recorded cause. The spike
// operator reports several of them in one window, the ledger single ones of several windows.
#pragma once

#include <string_view>

namespace eroica {

inline constexpr std::string_view kNobodyIsToBlame =
    "No rank is late in most of the steps, so no rank or machine is to blame. Each of them is "
    "delayed in steps of its own.";
inline constexpr std::string_view kLookForStalls =
    "Look at what stops every rank at times: allocations of memory, pauses of the "
    "interpreter, other processes of the hosts, retries of the network. Record with_stack=True: it "
    "names what the training thread runs then.";

}  // namespace eroica
