#include "stream_ops/runtime/stage_threads.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "schemas/check.h"
#include "schemas/mutex.h"
#include "stream_ops/runtime/random_id.h"

namespace eroica {
namespace {

// Until then, or until a stop is asked for.
void WaitFor(const std::stop_token& stop, std::chrono::milliseconds duration) {
  Mutex mutex;
  MutexLock lock(mutex);
  std::condition_variable_any changed;
  changed.wait_for(lock.native(), stop, duration, [] { return false; });
}

}  // namespace

StageThreads::StageThreads(Log& log, StateStore& store, Topology topology,
                           std::vector<std::string> roles, StageThreadsOptions options)
    : log_(log),
      store_(store),
      topology_(std::move(topology)),
      roles_(std::move(roles)),
      options_(std::move(options)) {
  EROICA_CHECK(options_.threads_per_stage > 0);
}

StageThreads::~StageThreads() {
  if (threads_.empty()) return;
  if (const absl::Status status = Stop(); !status.ok())
    spdlog::error("stages ended: {}", std::string(status.message()));
}

absl::Status StageThreads::Start() {
  EROICA_CHECK(threads_.empty());
  for (const std::string& role : roles_) {
    if (topology_.Find(role) == nullptr)
      return absl::InvalidArgumentError(fmt::format("there is no stage '{}'", role));
  }
  const auto runs = [this](const Stage& stage) {
    return roles_.empty() || std::ranges::find(roles_, stage.name) != roles_.end();
  };
  for (const Stage& stage : topology_.stages()) {
    if (runs(stage)) progress_[stage.name] = std::make_shared<StageProgress>();
  }
  int depth = 0;
  for (const Stage& stage : topology_.stages()) {
    ++depth;
    if (!runs(stage)) continue;
    for (int number = 0; number < options_.threads_per_stage; ++number) {
      StreamThreadOptions thread = ThreadOptions(stage, number, depth);
      size_t index = 0;
      {
        const MutexLock lock(mutex_);
        index = probes_.size();
        probes_.emplace_back(stage.name, StageProbe{});
      }
      threads_.emplace_back(
          [this, &stage, index, thread = std::move(thread)] {
            Run(stage, index, thread, stop_.get_token());
          },
          [this, &stage](const Thrown& thrown) { FinishThrown(stage.name, thrown); });
    }
  }
  return absl::OkStatus();
}

StreamThreadOptions StageThreads::ThreadOptions(const Stage& stage, int number, int depth) const {
  StreamThreadOptions thread = options_.thread;
  const std::string& instance = options_.group_instance_prefix;
  thread.consumer.group_id = fmt::format("{}-{}", options_.group_prefix, stage.name);
  if (!instance.empty())
    thread.consumer.group_instance_id = fmt::format("{}-{}-{}", instance, stage.name, number);
  if (options_.exactly_once) {
    const std::string name = instance.empty() ? fmt::format("{:016x}", RandomId()) : instance;
    thread.transactional_id =
        fmt::format("{}-{}-{}-{}", options_.group_prefix, name, stage.name, number);
  }
  // What an earlier stage closes because of silence must have arrived before a later stage calls
  // the same silence its own.
  if (thread.idle_timeout) *thread.idle_timeout *= depth;
  thread.progress = progress_.at(stage.name);
  bool is_later = false;
  for (const Stage& other : topology_.stages()) {
    const auto running = progress_.find(other.name);
    if (&other == &stage) {
      is_later = true;
    } else if (is_later) {
      if (running != progress_.end() && other.memory != nullptr)
        thread.later_pools.push_back(other.memory);
    } else {
      thread.upstreams.push_back(
          {.group_id = fmt::format("{}-{}", options_.group_prefix, other.name),
           .topic = TopicName(thread.task.topic_prefix, other.input),
           .progress = running == progress_.end() ? nullptr : running->second});
    }
  }
  return thread;
}

void StageThreads::Run(const Stage& stage, size_t index, StreamThreadOptions options,
                       const std::stop_token& stop) {
  StreamThread thread(log_, store_, stage, std::move(options));
  while (!stop.stop_requested()) {
    const absl::StatusOr<std::chrono::milliseconds> wait =
        thread.RunOnce(std::chrono::steady_clock::now());
    Publish(index, stage.name, thread.probe());
    if (!wait.ok()) {
      Finish(absl::Status(wait.status().code(), fmt::format("stage {}: {}", stage.name,
                                                            std::string(wait.status().message()))));
      return;  // with nothing committed: what failed is done again after a restart
    }
    if (wait->count() > 0) WaitFor(stop, *wait);
  }
  Finish(thread.Close(std::chrono::steady_clock::now()));
  Publish(index, stage.name, thread.probe());
}

void StageThreads::Publish(size_t index, const std::string& stage, const StageProbe& probe) {
  const MutexLock lock(mutex_);
  probes_[index] = {stage, probe};
}

void StageThreads::Finish(const absl::Status& status) {
  {
    const MutexLock lock(mutex_);
    status_.Update(status);
  }
  stop_.request_stop();
}

void StageThreads::FinishThrown(const std::string& stage, const Thrown& thrown) {
  RunAtBoundary(
      [&] {
        Finish(absl::InternalError(fmt::format(
            "stage {}: an exception ended it with nothing committed ({}): start the node again, "
            "and report this where it is not for want of memory",
            stage, thrown.text())));
      },
      // There is no memory for the text: a status without one takes none.
      [this](const Thrown&) { Finish(absl::Status(absl::StatusCode::kInternal, "")); });
}

absl::Status StageThreads::Wait() {
  while (!stop_.stop_requested()) WaitFor(stop_.get_token(), std::chrono::hours(1));
  const MutexLock lock(mutex_);
  return status_;
}

void StageThreads::RequestStop() { stop_.request_stop(); }

absl::Status StageThreads::Stop() {
  stop_.request_stop();
  threads_.clear();  // joins
  const MutexLock lock(mutex_);
  return status_;
}

std::map<std::string, StageProbe> StageThreads::Probes() const {
  std::map<std::string, StageProbe> probes;
  const MutexLock lock(mutex_);
  for (const auto& [stage, probe] : probes_) probes[stage].Add(probe);
  return probes;
}

}  // namespace eroica
