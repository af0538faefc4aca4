#include "producers/python/run_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "schemas/time_unit.h"

namespace eroica {

RunTimes CountedBefore(const RunTimes& read, int64_t ago_ns,
                       const std::optional<RunTimes>& before) {
  constexpr int64_t kReadingNs = 50'000;
  if (ago_ns <= kReadingNs) return read;
  const int64_t least_ns = before ? before->runnable_ns : 0;
  const int64_t runnable_ns = std::max(least_ns, read.runnable_ns - ago_ns);
  return {read.on_processor_ns, std::min(runnable_ns, read.runnable_ns)};
}

// How the clock follows from the thread's number is part of the kernel's ABI;
// pthread_getcpuclockid makes it in the same way, of threads that somebody has a pthread_t of.
clockid_t ProcessorClockOf(int thread_id) {
  constexpr clockid_t kOneThread = 4, kScheduler = 2;
  return (~static_cast<clockid_t>(thread_id) * 8) | kOneThread | kScheduler;
}

RunTimesFile::RunTimesFile(int thread_id) : clock_(ProcessorClockOf(thread_id)) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread_id);
  file_ = open(path, O_RDONLY | O_CLOEXEC);
}

RunTimesFile::~RunTimesFile() {
  if (file_ >= 0) close(file_);
}

std::optional<RunTimes> RunTimesFile::Read() const {
  timespec used{};
  if (clock_gettime(clock_, &used) != 0) return std::nullopt;
  char text[96];
  const ssize_t size = file_ < 0 ? -1 : pread(file_, text, sizeof text - 1, 0);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  char* rest = text;
  if (std::strtoll(text, &rest, 10) <= 0) return std::nullopt;  // a kernel that does not count
  return RunTimes{used.tv_sec * kNsPerSecond + used.tv_nsec, std::strtoll(rest, nullptr, 10)};
}

}  // namespace eroica
