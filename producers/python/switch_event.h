// The kernel's event that records a thread's context switches (perf_event_open(2)): whether this
// process may have one, and one.
#pragma once

namespace eroica {

// A descriptor, which the caller closes; -1 where the kernel or the container forbids it, the
// thread has ended, or the kernel is older than 4.17 and does not say whether the thread blocked.
// The records have the time of CLOCK_MONOTONIC and nothing else. Any thread.
int OpenSwitchEvent(int thread);

}  // namespace eroica
