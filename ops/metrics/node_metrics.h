// What /metrics answers: the node's counters, as of now, in Prometheus' text format (version
// 0.0.4). Pure function of what it is given, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/findings/finding_index.h"
#include "ops/rest/node_state.h"
#include "ops/rest/server.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/diagnose/job_board.h"

namespace eroica {

struct MetricSources {
  NodeState node;
  int64_t now_ms = 0;  // wall clock
  uint64_t times_unhealthy = 0;
  uint64_t findings_malformed = 0;
  const JobBoard* board = nullptr;
  const FindingIndex* findings = nullptr;
  ServerProbe http;
  std::optional<StoreMeasures> state;
};

std::string NodeMetrics(const MetricSources& sources);

}  // namespace eroica
