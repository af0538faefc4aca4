// What a recording of a job would have been without a sampler of Python stacks, from one with: the
// training thread's Python functions are gone, and with them what they called; its waits for a
// processor, which the host's sampler reads, are not. Pure.
//
// A trace is imported without them instead (ImportOptions::python_stacks), as the profiler's
// annotations then stand in their place.
#pragma once

#include "schemas/event_batch.h"

namespace eroica {

EventBatch WithoutStacks(EventBatch batch);

}  // namespace eroica
