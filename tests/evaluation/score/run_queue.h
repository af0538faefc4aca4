// Runs many scored jobs on several threads. What comes out depends on nothing but the tasks:
// results stand in their order, whoever ended first.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/evaluation/score/scored_run.h"

namespace eroica {

struct RunTask {
  std::string name;  // for the message where it fails
  uint32_t ranks = 0;
  uint32_t steps = 1;  // that its progress counts to
  // Any thread. The argument is told how many steps are done and answers with an error where the
  // run is to end.
  std::function<absl::StatusOr<std::vector<ScoredRun>>(
      const std::function<absl::Status(uint32_t)>&)>
      run;
};

struct RunQueueOptions {
  int threads = 1;
  // Of the tasks with more ranks than this one runs at a time: each needs gigabytes.
  uint32_t big_ranks = 2048;
};

// Called on the calling thread, about ten times a second. Of the same unit; the work of a step is
// its ranks.
using QueueProgress = std::function<void(uint64_t done, uint64_t total)>;

// The first error ends all; tasks that run are told so.
absl::StatusOr<std::vector<ScoredRun>> RunTasks(const std::vector<RunTask>& tasks,
                                                const RunQueueOptions& options,
                                                const QueueProgress& progress);

}  // namespace eroica
