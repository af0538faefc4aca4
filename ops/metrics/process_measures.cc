#include "ops/metrics/process_measures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace eroica {
namespace {

double Seconds(const timeval& time) {
  constexpr double kMicroseconds = 1e6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicroseconds;
}

}  // namespace

ProcessMeasures MeasureProcess() {
  ProcessMeasures measures;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    measures.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  uint64_t pages = 0;
  uint64_t resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident)
    measures.resident_bytes = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (!error) {
    const auto count = std::distance(begin(descriptors), end(descriptors));
    measures.open_fds = static_cast<uint64_t>(count);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) measures.max_fds = limit.rlim_cur;
  return measures;
}

}  // namespace eroica
