// The stack sampler's life, as the Python package calls it through ctypes.
#pragma once

#include <stdint.h>

#include "producers/python/stack_sampler.h"

extern "C" {

// With the GIL. Starts the sampler, once a process; hz 0: none. own_folder: of the package, with
// its slash; describe: a Python callable as GilHolder wants it, or null. Why there is no sampler,
// what a library has thrown among it, or null where it runs.
const char* eroica_python_start_sampler(double hz, const char* own_folder, int resume_opcode,
                                        void* describe);
// Without the GIL (ctypes.CDLL): joins the sampler's thread.
void eroica_python_stop_sampler();
// In the child of a fork, which has no sampler thread.
void eroica_python_abandon_sampler();
// With the GIL, on any thread, after it has told the core a sign of training.
void eroica_python_training_call();
// On the training thread, where the collector calls back at its end: the collection as an interval,
// called by the stack that it struck; without stacks called by nothing.
void eroica_python_collection(int64_t start_monotonic_ns);
// With the GIL. Somebody else profiles from now on (true), or no longer.
void eroica_python_pause_full_trace(bool paused);
void eroica_python_sampler_statistics(eroica::StackSamplerStatistics* out);

}  // extern "C"
