#include "producers/python/run_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace eroica {

RunTimesFile::RunTimesFile(int thread_id) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread_id);
  file_ = open(path, O_RDONLY | O_CLOEXEC);
}

RunTimesFile::~RunTimesFile() {
  if (file_ >= 0) close(file_);
}

std::optional<RunTimes> RunTimesFile::Read() const {
  char text[96];
  const ssize_t size = file_ < 0 ? -1 : pread(file_, text, sizeof text - 1, 0);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  char* rest = text;
  const int64_t on_processor_ns = std::strtoll(text, &rest, 10);
  if (on_processor_ns <= 0) return std::nullopt;  // a kernel that does not count says 0
  return RunTimes{on_processor_ns, std::strtoll(rest, nullptr, 10)};
}

}  // namespace eroica
