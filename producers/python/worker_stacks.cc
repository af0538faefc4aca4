#include "producers/python/worker_stacks.h"

#include <algorithm>
#include <optional>

#include "producers/core/producer_core.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr size_t kMostSpawned = 4'096;

}  // namespace

WorkerStacks::WorkerStacks(const CPythonApi& python, const std::string& own_folder)
    : minor_(python.minor), reader_(python, own_folder) {}

void WorkerStacks::Look(const AwaitedWorker& worker, const PythonThread& thread, int64_t last_ns,
                        int64_t now_ns, const std::vector<std::string>& search_path) {
  const auto reads = [&](const OtherThread& of) {
    return Read(worker.process, of, now_ns, search_path);
  };
  const auto known = spawned_.find(worker.process);
  const bool is_read = known != spawned_.end() ? reads(known->second) : reads({.thread = thread});
  if (!is_read) {
    const std::optional<OtherThread> found = Seek(worker.process, now_ns);
    if (!found || !reads(*found)) return;
  }
  const uint32_t leaf = functions_.LeafOf(stack_, worker.function);
  if (leaf == worker.function || leaf == EROICA_NO_PARENT) return;
  if (lane_ < 0) lane_ = eroica_lane("data loader's worker", EROICA_HOST_THREAD);
  eroica_interval(last_ns, now_ns, leaf, static_cast<uint8_t>(lane_));
  eroica_training_function(leaf);
}

bool WorkerStacks::Read(int32_t process, const OtherThread& of, int64_t now_ns,
                        const std::vector<std::string>& search_path) {
  if (process != process_ || of.moved != moved_) reader_.Follow(process, of.moved, now_ns);
  process_ = process;
  moved_ = of.moved;
  const bool is_read = reader_.Read(of.thread, now_ns, search_path, &stack_);
  functions_.Name(stack_.named);  // those that were read are not named again
  for (const NamedCode& code : stack_.named) {
    if (code.name.ends_with(": _worker_loop")) loops_.insert(code.code);
  }
  return is_read && KeepWhatTheLoopRuns();
}

bool WorkerStacks::KeepWhatTheLoopRuns() {
  const auto end = stack_.codes.begin() + static_cast<ptrdiff_t>(stack_.depth);
  const auto loop = std::find_if(stack_.codes.begin(), end,
                                 [this](uint32_t code) { return loops_.contains(code); });
  if (loop == end) return false;
  stack_.depth = static_cast<size_t>(loop - stack_.codes.begin());
  return true;
}

std::optional<OtherThread> WorkerStacks::Seek(int32_t process, int64_t now_ns) {
  if (now_ns - sought_ns_ < kNsPerSecond) return std::nullopt;
  sought_ns_ = now_ns;
  const std::optional<OtherThread> found = FindMainThread(minor_, process);
  if (spawned_.size() >= kMostSpawned) spawned_.clear();  // most have ended long ago
  if (found) {
    spawned_.insert_or_assign(process, *found);
  } else {
    spawned_.erase(process);
  }
  return found;
}

}  // namespace eroica
