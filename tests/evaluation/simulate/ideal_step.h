// What a step would take if communication cost nothing, nothing jittered, and no fault struck:
// work, launches, and waiting for each other remain. A lower bound for any simulation of the job,
// the whole that severities are shares of, and a proof that the stages' programs do not wait for
// each other in a circle.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <vector>

#include "tests/evaluation/simulate/rank_program.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

// Of a step without checkpoint, evaluation and garbage collection, in nanoseconds from its first
// stage's beginning to its last stage's end. programs: those of all stages of the job. Fails where
// stages stand still, or sends and receives differ, and says which and where.
absl::StatusOr<int64_t> IdealStepTime(const SimulatedJob& job,
                                      const std::vector<RankProgram>& programs);
// Builds the programs itself. Requires Check(job).ok().
absl::StatusOr<int64_t> IdealStepTime(const SimulatedJob& job);

}  // namespace eroica::simulate
