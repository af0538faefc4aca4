// What a recording of a job would have been without a sampler of Python stacks, from one with: the
// training thread's Python functions are gone, and with them what they called. Pure.
//
// A trace is imported without them instead (ImportOptions::python_stacks), as the profiler's
// annotations then stand in their place.
#pragma once

#include "schemas/event_batch.h"

namespace eroica {

EventBatch WithoutStacks(EventBatch batch);

}  // namespace eroica
