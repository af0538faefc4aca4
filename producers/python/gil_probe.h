// Whether a thread of this process waits for the GIL at this moment, without touching Python or
// that thread: the kernel says in which system call the thread is (/proc/self/task/TID/syscall),
// and the GIL's condition variable lies in CPython's _PyRuntime (3.9 to 3.15). Not known where
// /proc does not tell or _PyRuntime's place is not known. Owner: one thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

enum class ThreadState : uint8_t { kUnknown, kRunning, kInSystemCall, kWaitingForGil, kEnded };

// What /proc/self/task/TID/syscall says, given where the GIL lies: [begin, end).
ThreadState ParseSyscall(std::string_view text, uintptr_t gil_begin, uintptr_t gil_end);

class GilProbe {
 public:
  explicit GilProbe(int thread_id);
  ~GilProbe();
  GilProbe(const GilProbe&) = delete;
  GilProbe& operator=(const GilProbe&) = delete;

  ThreadState Read() const;

 private:
  int file_ = -1;
  uintptr_t gil_begin_ = 0;
  uintptr_t gil_end_ = 0;
};

}  // namespace eroica
