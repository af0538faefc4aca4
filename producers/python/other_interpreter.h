// The main thread of another process that runs the same CPython: the same file, loaded elsewhere. A
// process that was spawned has nothing at the addresses of this one, but _PyRuntime lies as far
// from where the file begins, and leads to the threads. From CPython 3.13 on (debug_offsets.h).
#pragma once

#include <cstdint>
#include <optional>

#include "producers/python/python_thread.h"

namespace eroica {

struct OtherThread {
  PythonThread thread;
  // How far what is static in CPython lies from where this process has it.
  intptr_t moved = 0;
  friend bool operator==(const OtherThread&, const OtherThread&) = default;
};

// Reads the maps of both processes: milliseconds. Nothing where the process may not be read, has
// not loaded this CPython, or its main thread is not in Python yet.
std::optional<OtherThread> FindMainThread(int minor, int process);

}  // namespace eroica
