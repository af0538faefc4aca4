#include "ops/launch/exit_status.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace eroica {
namespace {

// struct pidfd_info of linux/pidfd.h, first version: younger than the headers that this is compiled
// with.
struct PidfdInfo {
  uint64_t mask = 0;
  uint64_t control_group = 0;
  std::array<uint32_t, 11> ids{};
  int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kInfoExit = 1u << 3;

// Once the launcher has taken the status.
std::optional<int> TakenStatus(int pid_descriptor) {
  PidfdInfo info{.mask = kInfoExit};
  if (::ioctl(pid_descriptor, _IOWR(0xFF, 11, PidfdInfo), &info) != 0) return std::nullopt;
  if ((info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

// As long as nobody has taken it. proc_pid_stat(5): fields 3 (state) and 52 (exit_code).
std::optional<int> WaitingStatus(int pid_descriptor, pid_t pid) {
  constexpr size_t kState = 0;
  constexpr size_t kExitCode = 49;  // counted from the state
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(name_end + 2));
  const std::vector<std::string> fields(std::istream_iterator<std::string>(rest), {});
  if (fields.size() <= kExitCode || fields[kState] != "Z") return std::nullopt;
  // Whether the number was still its own.
  if (::syscall(SYS_pidfd_send_signal, pid_descriptor, 0, nullptr, 0) != 0) return std::nullopt;
  return std::atoi(fields[kExitCode].c_str());
}

}  // namespace

ProcessEnd EndOfStatus(int wait_status) {
  ProcessEnd end;
  if (WIFEXITED(wait_status)) end.exit_code = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) <= kHighestSignal)
    end.signal = WTERMSIG(wait_status);
  return end;
}

ProcessEnd ReadEnd(int pid_descriptor, pid_t pid) {
  std::optional<int> status = WaitingStatus(pid_descriptor, pid);
  if (!status) status = TakenStatus(pid_descriptor);
  return status ? EndOfStatus(*status) : ProcessEnd();
}

}  // namespace eroica
