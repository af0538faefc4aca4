// How a node fares, for those who ask over REST and for metrics: a copy, as of one moment.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stream_ops/runtime/stage_probe.h"

namespace eroica {

struct NodeState {
  std::string name;
  std::string version;
  int64_t started_ms = 0;  // wall clock
  std::vector<std::string> roles;
  bool healthy = true;
  std::vector<std::string> reasons;  // why it is not
  std::map<std::string, StageProbe> stages;
  bool findings_read = false;  // the topic, to its end as it was when the node began

  // Tasks that are ours and not open yet.
  uint64_t tasks_restoring() const {
    uint64_t restoring = 0;
    for (const auto& [stage, probe] : stages) restoring += probe.tasks_restoring;
    return restoring;
  }
  // It has what it needs to answer for its jobs and for all findings.
  bool ready() const { return tasks_restoring() == 0 && findings_read; }
};

}  // namespace eroica
