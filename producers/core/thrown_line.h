// What a producer says when a library has thrown on one of its threads or in one of its callbacks:
// that part records no more, and training goes on.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "schemas/thread_boundary.h"

namespace eroica {

// One line on standard error, once a process for each `said`, by one write and without taking
// memory. part: "the sampler of Python's stacks".
inline void SayThrownOnce(std::atomic<bool>* said, const char* part, const Thrown& thrown) {
  if (said->exchange(true)) return;
  char line[400];
  std::snprintf(line, sizeof(line),
                "eroica: %s records no more: an exception of a library (%s). Training goes on.\n",
                part, thrown.text());
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, std::strlen(line));
}

}  // namespace eroica
