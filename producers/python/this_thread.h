// The calling thread's number, as gettid() says; the kernel is asked once a thread. A fork's child,
// in which nothing is sampled, has its parent's.
#pragma once

#include <unistd.h>

namespace eroica {

inline int ThisThread() {
  thread_local const int thread = gettid();
  return thread;
}

}  // namespace eroica
