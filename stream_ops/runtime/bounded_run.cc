#include "stream_ops/runtime/bounded_run.h"

#include <utility>

namespace eroica {
namespace {

constexpr TimePoint kNow{};  // nothing in a bounded run depends on the time

StreamThreadOptions ThreadOptions(const BoundedRunOptions& options) {
  StreamThreadOptions thread;
  thread.task = {options.topic_prefix, options.replay_id};
  thread.changelog = options.changelog;
  thread.poll_records_max = options.poll_records_max;
  // an empty topic is known to be empty after the first poll
  thread.poll_timeout = std::chrono::milliseconds(1);
  thread.commit_interval = std::nullopt;
  thread.commit_records_max = options.commit_records_max;
  thread.idle_timeout = std::nullopt;
  thread.retries_max = 0;
  return thread;
}

}  // namespace

BoundedRun::BoundedRun(Log& log, StateStore& store, const Topology& topology,
                       BoundedRunOptions options)
    : log_(log), store_(store), topology_(topology), options_(std::move(options)) {}

absl::Status BoundedRun::Run() {
  while (true) {
    const absl::StatusOr<bool> more = Step();
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
  }
}

absl::StatusOr<bool> BoundedRun::Step() {
  if (stage_ == topology_.stages().size()) return false;
  const Stage& stage = topology_.stages()[stage_];
  if (thread_ == nullptr)
    thread_ = std::make_unique<StreamThread>(log_, store_, stage, ThreadOptions(options_));
  const absl::StatusOr<bool> caught_up = thread_->CaughtUp();
  if (!caught_up.ok()) return caught_up.status();
  if (!*caught_up) {
    const absl::StatusOr<std::chrono::milliseconds> wait = thread_->RunOnce(kNow);
    if (!wait.ok()) return wait.status();
    return true;
  }
  if (const absl::Status status = thread_->EndInput(kNow); !status.ok()) return status;
  if (const absl::Status status = thread_->Close(kNow); !status.ok()) return status;
  finished_[stage.name] = thread_->probe();
  thread_.reset();
  ++stage_;
  return stage_ < topology_.stages().size();
}

StageProbe BoundedRun::probe() const {
  StageProbe sum;
  for (const Stage& stage : topology_.stages()) sum.Add(probe(stage.name));
  return sum;
}

StageProbe BoundedRun::probe(std::string_view stage) const {
  if (const auto finished = finished_.find(stage); finished != finished_.end())
    return finished->second;
  if (thread_ != nullptr && topology_.stages()[stage_].name == stage) return thread_->probe();
  return {};
}

}  // namespace eroica
