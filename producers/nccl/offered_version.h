// Which version of the profiler ABI the plugin offers to the NCCL of this process.
//
// NCCL asks for version 7 first, and for version 6 where 7 is missing. Version 7 of the ABI came
// with NCCL 2.31; forks of older NCCLs use the same symbol name for other layouts and call
// functions behind the table. So version 7 is offered where every NCCL in the process that says its
// version is 2.31 or newer, and at least one does. One that is linked into another library and
// hides ncclGetVersion gets version 6.
#pragma once

namespace eroica::nccl {

inline constexpr int kFirstWithVersion7 = 23'100;  // as ncclGetVersion counts: 2.31.0

// Looks at all libraries of the process. Any thread; locks and allocates. [setup]
bool OffersVersion7();

}  // namespace eroica::nccl
