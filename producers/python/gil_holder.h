// Who keeps the GIL from the training thread: of the threads that Python knows, the one that used
// most processor time since the threads were last counted. Asked only where the training thread is
// seen waiting, at most once a second. Owner: the sampler's thread, which must not hold the GIL;
// Find takes it once. Bounded: kMostThreads are counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "producers/python/cpython_api.h"

namespace eroica {

class GilHolder {
 public:
  static constexpr size_t kMostThreads = 1'024;

  // describe: a Python callable that takes a thread's system id and returns None or bytes,
  // separated by '\0': the thread's name, and of its innermost frame the file, the line of the
  // definition, the function. Null: never found.
  GilHolder(const CPythonApi& python, PyPointer describe) : python_(python), describe_(describe) {}

  // Where the count begins.
  void Count();
  // "thread NAME in file.py(LINE): func", or "" where it is not known. Begins a new count.
  // waiting: the thread that waits, as gettid() says.
  std::string Find(int waiting);
  // What Find last waited for the GIL itself.
  int64_t last_wait_ns() const { return last_wait_ns_; }

 private:
  struct ThreadTime {
    int thread_id = 0;
    int64_t cpu_ns = 0;
  };

  static std::vector<ThreadTime> ReadThreads();
  std::string Describe(int thread_id) const;  // with the GIL

  const CPythonApi& python_;
  PyPointer describe_;
  std::vector<ThreadTime> counted_;
  int64_t last_wait_ns_ = 0;
};

}  // namespace eroica
