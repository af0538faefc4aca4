// What a node shows over HTTP: the server, what it answers from, and who keeps that up to date.
// Owner: the node's thread; it outlives the stages that publish on its board.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ops/cli/node_replays.h"
#include "ops/config/node_config.h"
#include "ops/findings/audit_log.h"
#include "ops/findings/finding_follower.h"
#include "ops/rest/server.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/diagnose/job_board.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/node_health.h"

namespace eroica {

// Whether the options of the section rest go together. kInvalidArgument: what cannot be.
absl::Status CheckRest(const NodeConfig& config);

class NodeRest {
 public:
  // As the stages and the node's health are now; called from any thread.
  struct Node {
    std::function<std::map<std::string, StageProbe>()> stages;
    const NodeHealth* health = nullptr;
    const RocksDbStore* store = nullptr;  // nullptr: there is nothing to measure of it
  };

  // kInvalidArgument: an option says what cannot be; kUnavailable: the address is taken.
  static absl::StatusOr<std::unique_ptr<NodeRest>> Open(
      const NodeConfig& config, Log& log,
      JobBoard::JobsOfEndedTask ended = JobBoard::JobsOfEndedTask::kLeave);

  // For the diagnose stage; nullptr: the configuration wants no server.
  std::shared_ptr<JobBoard> board() const { return board_; }
  // Begins to listen. Nothing where no server is wanted.
  absl::Status Start(Node node);
  // Before what Node refers to ends.
  void Stop() {
    server_ = nullptr;
    replays_ = nullptr;
    nodes_ = nullptr;
  }
  // "http://127.0.0.1:8470"; empty: no server.
  std::string url() const { return server_ == nullptr ? "" : server_->url(); }

 private:
  NodeRest(const NodeConfig& config, Log& log) : config_(config), log_(log) {}
  absl::Status Listen();
  absl::StatusOr<PeerOptions> Peers() const;
  std::string Metrics(const Node& node, const NodeState& state) const;

  const NodeConfig config_;
  Log& log_;
  std::shared_ptr<JobBoard> board_;
  std::unique_ptr<FindingIndex> findings_;
  std::unique_ptr<FindingFollower> follower_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<NodeReplays> replays_;
  std::unique_ptr<NodeDirectory> nodes_;  // nullptr: a recording has one node
  std::unique_ptr<RestService> service_;
  std::unique_ptr<RestServer> server_;
  std::atomic<const RestServer*> counting_ = nullptr;  // server_, once requests may ask it
};

}  // namespace eroica
