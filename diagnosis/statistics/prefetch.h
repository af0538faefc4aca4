// For loops over all ranks, whose batches lie far apart in more memory than any cache holds.
#pragma once

namespace eroica {

// Asks memory for what is read a little later. Into the second-level cache, since that waits for
// more lines at once than the first: reading the functions of all ranks takes two thirds of the
// time so.
inline void Prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }

}  // namespace eroica
