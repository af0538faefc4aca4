// What every thread of ours inside a training process does first.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace eroica {

// Asks the scheduler not to interrupt a training thread when the calling one wakes up
// (SCHED_BATCH): on a host with fewer processors than ranks it waits for the end of somebody's turn
// instead. Who was given less already (SCHED_IDLE) keeps it. Threads that it starts inherit that.
// Then the thread takes the name, of 15 characters at most.
inline void RunInBackground(const char* name) {
  if (::sched_getscheduler(0) != SCHED_IDLE) {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_BATCH, &none);
  }
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace eroica
