#include "producers/python/gil_probe.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>

namespace eroica {
namespace {

// Of the symbol _PyRuntime; empty where it has no size.
void FindRuntime(uintptr_t* begin, uintptr_t* end) {
  void* runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
  if (runtime == nullptr) return;
  Dl_info info;
  void* extra = nullptr;
  if (dladdr1(runtime, &info, &extra, RTLD_DL_SYMENT) == 0 || extra == nullptr ||
      info.dli_saddr != runtime)
    return;
  *begin = reinterpret_cast<uintptr_t>(runtime);
  *end = *begin + static_cast<const ElfW(Sym)*>(extra)->st_size;
}

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
  FindRuntime(&gil_begin_, &gil_end_);
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
