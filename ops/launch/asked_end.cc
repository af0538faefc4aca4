#include "ops/launch/asked_end.h"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {
namespace {

constexpr uint64_t BitOf(int32_t signal) { return uint64_t{1} << (signal - 1); }

// proc_pid_status(5). A signal that ends a process by default is sent on as SIGKILL to each of its
// threads at once (complete_signal in the kernel's signal.c): the first thread has that pending.
bool MayHaveGot(pid_t pid, int32_t signal) {
  constexpr std::array<std::string_view, 5> kMasks = {
      "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  size_t seen = 0;
  for (std::string line; std::getline(file, line);) {
    for (const std::string_view mask : kMasks) {
      if (!line.starts_with(mask)) continue;
      ++seen;
      const uint64_t signals = std::strtoull(line.c_str() + mask.size(), nullptr, 16);
      if ((signals & BitOf(signal)) != 0) return true;
      if (mask == "SigPnd:" && (signals & BitOf(SIGKILL)) != 0) return true;
    }
  }
  return seen != kMasks.size();
}

// proc_pid_stat(5), field 9: the kernel's flags of the first thread.
bool MayEnd(pid_t pid) {
  constexpr size_t kFlags = 6;        // counted from the state, field 3
  constexpr uint64_t kExiting = 0x4;  // PF_EXITING of the kernel's sched.h
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return true;
  std::istringstream rest(line.substr(name_end + 2));
  const std::vector<std::string> fields(std::istream_iterator<std::string>(rest), {});
  return fields.size() <= kFlags ||
         (std::strtoull(fields[kFlags].c_str(), nullptr, 10) & kExiting) != 0;
}

}  // namespace

bool AsksForEnd(int32_t signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// The flags last: what is no longer pending has been taken, and ends the process.
bool IsUntold(pid_t pid, int32_t signal) { return !MayHaveGot(pid, signal) && !MayEnd(pid); }

}  // namespace eroica
