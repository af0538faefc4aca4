#include "producers/python/gil_probe.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <span>

#include "producers/python/debug_offsets.h"

namespace eroica {
namespace {

template <typename Number>
bool ParseNumber(std::string_view text, int base, Number* number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && rest != text.data();
}

}  // namespace

ThreadState ParseSyscall(std::string_view text, uintptr_t gil_begin, uintptr_t gil_end) {
  if (text.starts_with("running")) return ThreadState::kRunning;
  long number = 0;
  if (!ParseNumber(text, 10, &number)) return ThreadState::kUnknown;
  const size_t space = text.find(" 0x");
  uintptr_t address = 0;
  if (number != SYS_futex || space == std::string_view::npos ||
      !ParseNumber(text.substr(space + 3), 16, &address)) {
    return ThreadState::kInSystemCall;
  }
  return address >= gil_begin && address < gil_end ? ThreadState::kWaitingForGil
                                                   : ThreadState::kInSystemCall;
}

GilProbe::GilProbe(int thread_id) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread_id);
  file_ = open(path, O_RDONLY | O_CLOEXEC);
  const std::span<const std::byte> runtime = CPythonRuntime();
  gil_begin_ = reinterpret_cast<uintptr_t>(runtime.data());
  gil_end_ = gil_begin_ + runtime.size();
}

GilProbe::~GilProbe() {
  if (file_ >= 0) close(file_);
}

ThreadState GilProbe::Read() const {
  if (file_ < 0) return ThreadState::kUnknown;
  char text[256];
  const ssize_t size = pread(file_, text, sizeof text, 0);
  if (size < 0 && errno == ESRCH) return ThreadState::kEnded;
  if (size <= 0) return ThreadState::kUnknown;
  return ParseSyscall({text, static_cast<size_t>(size)}, gil_begin_, gil_end_);
}

}  // namespace eroica
