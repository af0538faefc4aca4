#include "producers/python/thread_account.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

bool IsThere(int thread) { return syscall(SYS_tgkill, getpid(), thread, 0) == 0 || errno != ESRCH; }

}  // namespace

ThreadAccount::ThreadAccount(int thread)
    : thread_(thread), probe_(thread), times_(thread), clock_(ProcessorClockOf(thread)) {}

ThreadState ThreadAccount::State() const {
  const ThreadState state = probe_.Read();
  // Where /proc does not tell.
  return state == ThreadState::kUnknown && !IsThere(thread_) ? ThreadState::kEnded : state;
}

std::optional<int64_t> ThreadAccount::ActiveNs() const {
  const std::optional<RunTimes> times = times_.Read();
  if (!times) return std::nullopt;
  return times->on_processor_ns + times->runnable_ns;
}

int64_t ThreadAccount::CpuNs() const {
  timespec used{};
  if (clock_gettime(clock_, &used) != 0) return 0;
  return used.tv_sec * kNsPerSecond + used.tv_nsec;
}

}  // namespace eroica
