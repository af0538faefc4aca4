// A thread as CPython knows it: where its PyThreadState lies, by which its frames are found, and
// the number that CPython gives to one thread only. CPython frees the state when the thread ends,
// and that of another may lie there later: a reader of the memory compares the number.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "producers/python/cpython_api.h"

namespace eroica {

struct PythonThread {
  uintptr_t state = 0;
  uint64_t number = 0;
  friend bool operator==(const PythonThread&, const PythonThread&) = default;

  // The calling thread, which has the GIL; nothing where this CPython does not say.
  static std::optional<PythonThread> Here(const CPythonApi& python) {
    if (python.PyThreadState_Get == nullptr || python.PyThreadState_GetID == nullptr)
      return std::nullopt;
    PyPointer state = python.PyThreadState_Get();
    return PythonThread{reinterpret_cast<uintptr_t>(state), python.PyThreadState_GetID(state)};
  }
};

// Hands a thread from the holder of the GIL to a thread without it; no lock.
class ThreadBoard {
 public:
  // With the GIL. owner: the number by which readers ask for the thread.
  void Write(uint32_t owner, const PythonThread& thread) {
    version_.fetch_add(1, std::memory_order_acq_rel);  // odd: it is being written
    owner_.store(owner, std::memory_order_release);
    state_.store(thread.state, std::memory_order_release);
    number_.store(thread.number, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_acq_rel);
  }
  // [any thread] Of that owner; nothing where there is none, or while it changes.
  std::optional<PythonThread> Read(uint32_t owner) const {
    const uint32_t before = version_.load(std::memory_order_acquire);
    const uint32_t found = owner_.load(std::memory_order_acquire);
    const PythonThread thread = {state_.load(std::memory_order_acquire),
                                 number_.load(std::memory_order_acquire)};
    const bool whole = before % 2 == 0 && version_.load(std::memory_order_acquire) == before;
    if (!whole || found != owner || thread.state == 0) return std::nullopt;
    return thread;
  }

 private:
  std::atomic<uint32_t> version_{0};
  std::atomic<uint32_t> owner_{0};
  std::atomic<uintptr_t> state_{0};
  std::atomic<uint64_t> number_{0};
};

}  // namespace eroica
