// Runs batches of events through a whole topology, in the several ways that must not make a
// difference, and says what came out in a form to compare.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/event_batch.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/topology.h"

namespace eroica::testing {

// How the same input reaches the topology.
struct PipelineWay {
  std::string name;
  int32_t partitions = 1;
  // ranks mixed, batches of a rank swapped with their neighbors, some sent twice
  bool disorder = false;
  // the run dies after random steps, with what was not committed, until it gets through
  bool crashes = false;
  uint64_t seed = 1;
};

// In order; disordered; crashing; all partition counts; and everything at once.
std::vector<PipelineWay> AllWays();

// Without repetitions, sorted: what was said, whatever the order and however often.
struct PipelineOutput {
  // keys and bytes of the patterns topic: PatternBatches and CollectiveSummaries
  std::vector<std::string> patterns;
  std::vector<std::string> findings;      // as JSON, without the wall clock
  std::vector<std::string> dead_letters;  // their reasons, with repetitions
  // That the findings topic holds more than once. Not compared.
  std::vector<std::string> repeated_findings;
  friend bool operator==(const PipelineOutput& one, const PipelineOutput& other) {
    return one.patterns == other.patterns && one.findings == other.findings &&
           one.dead_letters == other.dead_letters;
  }
};

// The batches in the order of the way.
std::vector<const EventBatch*> Arrange(const std::vector<EventBatch>& batches,
                                       const PipelineWay& way);
// To the events topic of the prefix.
absl::Status AppendBatches(Log& log, std::string_view prefix,
                           const std::vector<const EventBatch*>& batches);
// Of the topics of the prefix, as they are now.
PipelineOutput ReadOutput(Log& log, std::string_view prefix);

// All of it in memory.
absl::StatusOr<PipelineOutput> RunPipeline(const std::vector<EventBatch>& batches,
                                           const Topology& topology, const PipelineWay& way);

}  // namespace eroica::testing
