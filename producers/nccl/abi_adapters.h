// Between the versions of NCCL's profiler ABI and the one CollectiveRecorder that knows none of
// them: five function tables, each a thin translation. What they promise to NCCL: success always,
// nothing thrown, *handle written by every start, null pointers of any kind accepted, and nothing
// behind a pointer read but the descriptor itself and its strings. What the making of the recorder
// throws is said once, and the next init tries again. No other call can throw: none allocates, but
// for an init's `new (std::nothrow)`, and the core's functions throw nothing.
#pragma once

#include "producers/nccl/abi_v3.h"
#include "producers/nccl/abi_v4.h"
#include "producers/nccl/abi_v5.h"
#include "producers/nccl/abi_v6.h"
#include "producers/nccl/abi_v7.h"
#include "producers/nccl/collective_recorder.h"

namespace eroica::nccl {

inline constexpr const char* kProfilerName = "Eroica";

// The process' recorder: made by the first init, then there until the process ends, since NCCL's
// threads may still call when the last communicator is gone. nullptr: not made, or no memory for
// it.
CollectiveRecorder* ProcessRecorder();
// For tests: calls go to this one from here on, nullptr: to the next that an init makes. Owned by
// the caller, no call may be under way.
void SetProcessRecorder(CollectiveRecorder* recorder);

ProfilerV3 MakeProfilerV3();
ProfilerV4 MakeProfilerV4();
ProfilerV5 MakeProfilerV5();
ProfilerV6 MakeProfilerV6();
ProfilerV7 MakeProfilerV7();

}  // namespace eroica::nccl
