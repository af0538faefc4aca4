// Runs a topology in this process until its input is used up: each stage in turn reads to the end
// of its topic, is told that nothing more will come, and commits. No thread, no clock, no
// randomness: equal input gives equal output. `eroica diagnose` is one such run over a MemoryLog;
// the tests use it as Kafka Streams' TopologyTestDriver, step by step. Findings are read from the
// findings topic of the log.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "state_store/state_store.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/stage_probe.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/topology.h"

namespace eroica {

struct BoundedRunOptions {
  std::string topic_prefix = std::string(kDefaultTopicPrefix);
  std::string replay_id{};
  size_t poll_records_max = 64;
  uint64_t commit_records_max = 1024;
  bool changelog = false;  // of topics that nodes share, too
};

class BoundedRun {
 public:
  // All three must outlive the run. The topics must exist, see topic_layout.h.
  BoundedRun(Log& log, StateStore& store, const Topology& topology, BoundedRunOptions options);

  // Every stage to its end. The first error ends the run.
  absl::Status Run();
  // One poll of the stage whose turn it is, or its end. false: nothing is left to do. To destroy a
  // run between two steps is to crash there: what was committed stays, and a new run over the same
  // store and log goes on from it.
  absl::StatusOr<bool> Step();

  // Of all stages that ran, added up; or of one of them.
  StageProbe probe() const;
  StageProbe probe(std::string_view stage) const;

 private:
  Log& log_;
  StateStore& store_;
  const Topology& topology_;
  const BoundedRunOptions options_;
  size_t stage_ = 0;                      // index of the stage whose turn it is
  std::unique_ptr<StreamThread> thread_;  // its loop
  std::map<std::string, StageProbe, std::less<>> finished_;
};

}  // namespace eroica
