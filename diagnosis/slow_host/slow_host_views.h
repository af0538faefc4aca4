// What the tests of SlowHostOperator share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diagnosis/measurements/training_view.h"
#include "diagnosis/slow_host/slow_host_operator.h"

namespace eroica {

// What is claimed of the window; history: of this job, times: of its ranks in earlier windows.
inline std::vector<Finding> EvaluateSlowHosts(TrainingView& job,
                                              std::span<const PatternBatch> history = {},
                                              std::span<const RankTimes> past_times = {}) {
  const CrossRankView view(job.batches(), job.summaries(),
                           {.profiles = history, .times = past_times});
  std::vector<Finding> findings;
  SlowHostOperator().Evaluate(view, findings);
  return findings;
}

// One stage of a pipeline on each host, or `per_host`.
inline void InStages(TrainingView& job, uint32_t per_host = 1) {
  for (uint32_t rank = 0; rank < job.batches().size(); ++rank)
    job.Role(rank, "stage" + std::to_string(rank * per_host / 8));
}

}  // namespace eroica
