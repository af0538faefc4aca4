#include "producers/python/switch_event.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

namespace eroica {
namespace {

bool SaysWhetherItBlocked() {
  utsname kernel{};
  int major = 0, minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
    return false;
  return major > 4 || (major == 4 && minor >= 17);
}

}  // namespace

int OpenSwitchEvent(int thread) {
  if (!SaysWhetherItBlocked()) return -1;
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  attributes.context_switch = 1;
  attributes.exclude_kernel = 1;  // what an unprivileged process may ask for
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace eroica
