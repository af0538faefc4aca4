// What the resources answer from: snapshots, all thread-safe. They outlive the server.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>
#include <vector>

#include "ops/findings/audit_log.h"
#include "ops/findings/finding_index.h"
#include "ops/rest/node_directory.h"
#include "ops/rest/node_state.h"
#include "ops/rest/replays.h"
#include "schemas/control.h"
#include "stream_ops/diagnose/job_board.h"

namespace eroica {

struct RestSources {
  const JobBoard* board = nullptr;         // nullptr: a program that knows no jobs, and then
  const FindingIndex* findings = nullptr;  // no findings
  AuditLog* audit = nullptr;
  Replays* replays = nullptr;
  std::function<absl::Status(const Control&)> request_capture;  // to the job's producers
  std::function<std::string()> metrics;                         // Prometheus' text format
  std::function<std::vector<KnownNode>()> others;  // that may be asked; none where it is not set
  std::function<NodeState()> node;                 // as of now
  std::function<int64_t()> wall_clock_ms;
};

}  // namespace eroica
