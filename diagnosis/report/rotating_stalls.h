// What is said of stalls that come to one rank now and to another then, and that nothing which was
// recorded explains: by the window that shows several of them, and over windows that show one each.
#pragma once

#include <string_view>

namespace eroica {

inline constexpr std::string_view kNobodyIsToBlame =
    "No rank is late in most of the steps, so no rank or machine is to blame. What delays them "
    "comes to each of them in steps of its own.";
inline constexpr std::string_view kLookForStalls =
    "Look at what stops every rank at times: allocations of device memory, pauses of the "
    "interpreter, other processes of the hosts, retries of the network. Record with_stack=True: it "
    "names what the training thread runs then.";

}  // namespace eroica
