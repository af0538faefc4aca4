// What the recorded core (producers/core/testing/recorded_core.h) took, as JSON: for tests that run
// in Python processes, where a library of the core's file name, made of the recorded core and this,
// stands in for the core.
#pragma once

#include "producers/core/testing/recorded_core.h"

extern "C" {

// One object: attached, rank, functions, lanes, communicators, intervals, operations, marks, ... as
// in Recorded. Valid until the next call.
const char* eroica_recorded_json();
void eroica_recorded_reset(bool enabled, int capture_level);
void eroica_recorded_full_trace(bool wanted);

}  // extern "C"
