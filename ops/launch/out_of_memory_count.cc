#include "ops/launch/out_of_memory_count.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace eroica {
namespace {

// "0::/path", the line of the unified hierarchy.
std::string GroupOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cgroup", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "";
}

}  // namespace

OutOfMemoryCount::OutOfMemoryCount(pid_t pid) {
  path_ = fmt::format("/sys/fs/cgroup{}/memory.events", GroupOf(pid));
  if (::access(path_.c_str(), R_OK) != 0) path_ = "/proc/vmstat";
  before_ = Read();
}

uint64_t OutOfMemoryCount::Read() const {
  std::ifstream file(path_);
  std::string name;
  for (uint64_t count = 0; file >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

}  // namespace eroica
