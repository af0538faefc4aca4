// What a rank's producer says while the rank makes no progress.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/rank_state.h"
#include "tests/evaluation/simulate/stage_program.h"
#include "tests/evaluation/simulate/step_runner.h"

namespace eroica::simulate {

// time_ns and all times of the report: true time. Requires a living rank that rests or hangs, after
// StepRunner::Stall.
ProgressReport DescribeStandstill(const RankState& rank, const StageProgram& stage,
                                  const StepRunner& runner, int64_t time_ns);

// What its connections did in the stretch before, as NCCL's proxy threads know it: sends that are
// posted and do not complete.
std::vector<ConnectionSample> DescribeStalledConnections(const RankState& rank,
                                                         const StepRunner& runner, int64_t time_ns,
                                                         int64_t stretch_ns);

}  // namespace eroica::simulate
