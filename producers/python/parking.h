// Where a thread stays that must not ask for the GIL once the interpreter ends. Up to CPython 3.13
// such a thread is ended in the middle of what it does, and C++ above it ends the process with a
// signal.
#pragma once

#include <cstdint>

extern "C" {

// [a thread that does not hold the GIL] Does not return where the interpreter begins to end within
// the time, in milliseconds, or has begun before; else returns after it.
void eroica_python_park(uint32_t longest_ms);

}  // extern "C"
