// A real training job with a known truth, whole in memory: what its ranks recorded, and what has to
// be said of it. Where it comes from: trace_sources.h, recording_sources.h. How it is judged:
// real_run.h. Plain data; read once, then only read from.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "producers/import/import_report.h"
#include "schemas/event_batch.h"
#include "tests/evaluation/score/scenario.h"

namespace eroica {

// What becomes of the marks by which ranks tell their steps apart.
enum class StepMarks : uint8_t {
  kKept = 0,
  kOneStep = 1,  // a trace without ProfilerStep, as the importer takes it: all of it is one step
  kNone = 2,     // a producer that counts no steps: windows are of time
};

struct RealJob {
  std::string name;
  std::vector<EventBatch> batches;  // of each producer in order
  // The same job without Python stacks; empty where batches hold none.
  std::vector<EventBatch> without_stacks;
  std::vector<ExpectedFinding> expected;  // none, or optional ones only: a healthy job
  int64_t from_step = 0;                  // in which its fault begins
  uint32_t ranks_per_host = 0;            // 0: which ranks share a host is unknown
  uint32_t tensor = 1;                    // so many consecutive ranks share their layers
  std::vector<uint32_t> window_steps;     // in windows of so many steps it is judged
  std::optional<ImportReport> imported;   // of traces; nothing: recorded by our own producers
  // What it becomes where nobody marks steps.
  StepMarks unmarked() const { return imported ? StepMarks::kOneStep : StepMarks::kNone; }
  bool healthy() const;
};

// Of the batches.
std::vector<uint32_t> RanksOf(const std::vector<EventBatch>& batches);  // ascending
std::map<uint32_t, std::string> HostsOf(const std::vector<EventBatch>& batches);
// Of the rank that has the most.
size_t StepCountOf(const std::vector<EventBatch>& batches);
bool HasPythonFunctions(const std::vector<EventBatch>& batches);

// A job that is read when its turn comes.
struct RealJobSource {
  std::string name;
  std::function<absl::StatusOr<RealJob>()> load;  // any thread
};

}  // namespace eroica
