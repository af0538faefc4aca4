// What every thread of ours inside a training process does first.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

namespace eroica {

// Asks the scheduler not to interrupt a training thread when the calling one wakes up
// (SCHED_BATCH): on a host with fewer processors than ranks it waits for the end of somebody's turn
// instead. Who was given less already (SCHED_IDLE) keeps it. Its timers may be up to 10 ms late, so
// that the kernel lets it run at an interrupt that comes anyway. Threads that it starts inherit
// both. Then the thread takes the name, of 15 characters at most.
inline void RunInBackground(const char* name) {
  if (::sched_getscheduler(0) != SCHED_IDLE) {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_BATCH, &none);
  }
  constexpr unsigned long kLateNs = 10'000'000;
  ::prctl(PR_SET_TIMERSLACK, kLateNs, 0, 0, 0);
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace eroica
