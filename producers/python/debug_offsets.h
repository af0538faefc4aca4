// What CPython says of its own structures, for debuggers and profilers: from 3.13 on _PyRuntime
// begins with a table of offsets (_Py_DebugOffsets, Include/internal/pycore_debug_offsets.h; in
// 3.13 pycore_runtime.h). Which number of the table is what differs from one minor version to the
// next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "producers/python/frame_layout.h"

namespace eroica {

// The memory of the running CPython's _PyRuntime, which lasts as long as the process; empty where
// its symbol or its size is not known. [any thread]
std::span<const std::byte> CPythonRuntime();

// From the beginning of a _PyRuntime of CPython 3.minor, with a GIL or free-threaded (PEP 703).
// Nothing where it is no such table, of another version, or holds offsets that cannot be.
std::optional<FrameLayout> ParseDebugOffsets(int minor, std::span<const std::byte> runtime);

// Where the threads of the main interpreter are found, offsets in bytes.
struct ThreadListLayout {
  uint16_t first_interpreter;  // in _PyRuntime
  uint16_t first_thread;       // in a PyInterpreterState
  uint16_t next_thread;        // in a PyThreadState
  uint16_t thread_id;          // likewise: as gettid() says, unsigned long
  uint16_t thread_number;      // likewise: uint64_t
};
// As ParseDebugOffsets.
std::optional<ThreadListLayout> ParseThreadList(int minor, std::span<const std::byte> runtime);

}  // namespace eroica
