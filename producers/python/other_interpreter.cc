#include "producers/python/other_interpreter.h"

#include <inttypes.h>

#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "producers/python/debug_offsets.h"
#include "producers/python/process_memory.h"

namespace eroica {
namespace {

constexpr int kMostThreads = 256;

// A line of /proc/PID/maps.
struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint64_t offset = 0;
  std::array<char, 32> device{};
  uint64_t inode = 0;

  bool Holds(uintptr_t address) const { return begin <= address && address < end; }
  bool IsOfFileOf(const Mapping& other) const {
    return inode != 0 && inode == other.inode && device == other.device;
  }
};

class Maps {
 public:
  explicit Maps(const std::string& process)
      : file_(std::fopen(("/proc/" + process + "/maps").c_str(), "re"), &std::fclose) {}

  bool Next(Mapping* mapping) {
    std::array<char, 4096> line;
    *mapping = {};
    while (file_ && std::fgets(line.data(), line.size(), file_.get()) != nullptr) {
      if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %*4s %" SCNx64 " %31s %" SCNu64,
                      &mapping->begin, &mapping->end, &mapping->offset, mapping->device.data(),
                      &mapping->inode) == 5)
        return true;
    }
    return false;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// What is loaded at that address of this process.
std::optional<Mapping> MappingOf(uintptr_t address) {
  Mapping mapping;
  for (Maps own("self"); own.Next(&mapping);) {
    if (mapping.Holds(address)) return mapping;
  }
  return std::nullopt;
}

// How far that file is moved in the process.
std::optional<intptr_t> MovedIn(int process, const Mapping& own) {
  Mapping mapping;
  for (Maps other(std::to_string(process)); other.Next(&mapping);) {
    if (mapping.IsOfFileOf(own) && mapping.offset == own.offset)
      return static_cast<intptr_t>(mapping.begin - own.begin);
  }
  return std::nullopt;
}

}  // namespace

std::optional<OtherThread> FindMainThread(int minor, int process) {
  const std::span<const std::byte> runtime = CPythonRuntime();
  const std::optional<ThreadListLayout> layout = ParseThreadList(minor, runtime);
  if (!layout) return std::nullopt;
  const auto own = reinterpret_cast<uintptr_t>(runtime.data());
  const std::optional<Mapping> mapping = MappingOf(own);
  const std::optional<intptr_t> moved = mapping ? MovedIn(process, *mapping) : std::nullopt;
  if (!moved) return std::nullopt;
  ProcessMemory memory;
  memory.Follow(process);
  OtherThread found{.moved = *moved};
  uintptr_t interpreter = 0, state = 0;
  const uintptr_t first = own + static_cast<uintptr_t>(*moved) + layout->first_interpreter;
  bool is_read =
      memory.Read(first, &interpreter) && memory.Read(interpreter + layout->first_thread, &state);
  for (int i = 0; i < kMostThreads && is_read && state != 0; ++i) {
    unsigned long thread_id = 0;
    is_read = memory.Read(state + layout->thread_id, &thread_id);
    if (is_read && thread_id == static_cast<unsigned long>(process)) {
      found.thread.state = state;
      if (!memory.Read(state + layout->thread_number, &found.thread.number)) return std::nullopt;
      return found;
    }
    is_read = is_read && memory.Read(state + layout->next_thread, &state);
  }
  return std::nullopt;
}

}  // namespace eroica
