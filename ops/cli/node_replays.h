// The replays of a node: asked for over REST, carried out one after the other by a thread of low
// priority, each in a folder of its own beside the node's state. The newest are kept over restarts;
// the folders of others are deleted. What a replay may take of memory is rest.replay_memory_mib;
// the live stages, their topics and their findings are left alone.
//
// Owner: the node's thread, which destroys it before the log's brokers are let go of; thread-safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/config/node_config.h"
#include "ops/rest/replays.h"
#include "schemas/boundary_thread.h"
#include "schemas/mutex.h"

namespace eroica {

class NodeReplays final : public Replays {
 public:
  static constexpr size_t kKeptMax = 16;
  static constexpr size_t kWaitingMax = 8;
  // Of each replay; the others are in its folder.
  static constexpr size_t kFindingsMax = 1'000;

  // folder: made when the first replay runs. What it holds of earlier replays is known at once.
  // before_run: called on the thread before each replay; what it throws is the replay's error.
  NodeReplays(
      const NodeConfig& config, std::string folder,
      std::function<void(const ReplayStatus&)> before_run = [](const ReplayStatus&) {});
  // A replay that runs is interrupted at its next step.
  ~NodeReplays() override;

  absl::StatusOr<ReplayStatus> Ask(ReplayOrder order, const std::string& by) override;
  std::vector<ReplayStatus> List() const override;
  std::optional<ReplayStatus> Find(const std::string& id) const override;
  absl::Status Cancel(const std::string& id) override;

 private:
  struct Entry {
    ReplayStatus status;
    bool cancelled = false;  // while it runs
  };

  void ReadKept();
  absl::StatusOr<NodeConfig> ConfigOf(const ReplayOrder& order) const;
  Entry* FindEntry(const std::string& id) EROICA_REQUIRES(mutex_);
  void DropOldest() EROICA_REQUIRES(mutex_);
  void Work(const std::stop_token& stop);
  std::optional<ReplayStatus> TakeNext() EROICA_REQUIRES(mutex_);
  void CarryOut(ReplayStatus replay, const std::stop_token& stop);
  absl::Status Run(ReplayStatus* replay, const std::stop_token& stop);
  bool Progress(const std::string& id, int64_t done, int64_t total, const std::stop_token& stop);
  void Finish(ReplayStatus replay, const absl::Status& status);

  const NodeConfig config_;
  const std::string folder_;
  const std::function<void(const ReplayStatus&)> before_run_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Entry> entries_ EROICA_GUARDED_BY(mutex_);  // newest first
  BoundaryThread worker_;                                // ends before what it works on
};

}  // namespace eroica
