// Every method's word on one job, judged.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tests/evaluation/score/job_run.h"
#include "tests/evaluation/score/method.h"
#include "tests/evaluation/score/scored_run.h"

namespace eroica {

// One a method, as given. All batches are in the run.
absl::StatusOr<std::vector<ScoredRun>> JudgeJob(JobRun& run, const RunFacts& facts,
                                                const std::vector<Truth>& truths,
                                                std::span<const Method> methods,
                                                uint32_t ranks_per_host);

}  // namespace eroica
