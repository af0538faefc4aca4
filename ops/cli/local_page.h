// The dashboard of what this process diagnoses itself (`--open`): served on loopback alone, and
// opened in the desktop's browser where there is one. Owner: the command's thread; it outlives the
// stages that publish on its board.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "ops/cli/node_rest.h"
#include "ops/config/node_config.h"
#include "stream_ops/diagnose/job_board.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/node_health.h"

namespace eroica {

class LocalPage {
 public:
  // log must outlive the page. What the configuration says of [rest] has no meaning here.
  static absl::StatusOr<std::unique_ptr<LocalPage>> Open(NodeConfig config, Log& log);
  ~LocalPage() { rest_->Stop(); }

  // For the diagnose stage.
  std::shared_ptr<JobBoard> board() const { return rest_->board(); }
  // Begins to listen, and says on standard error where. stages: as now, called from any thread.
  absl::Status Serve(std::function<std::map<std::string, StageProbe>()> stages);
  std::string url() const { return rest_->url() + "/"; }

 private:
  explicit LocalPage(std::unique_ptr<NodeRest> rest) : rest_(std::move(rest)) {}

  NodeHealth health_{{}, std::chrono::steady_clock::now()};
  std::unique_ptr<NodeRest> rest_;
};

}  // namespace eroica
