// From the layout and the workload to what each pipeline stage runs in a step: GPipe's successor 1F1B, plain and interleaved (Narayanan et al., SC'21), tensor and
// context parallelism inside the layers, experts with their all-to-alls, gradients reduced in buckets or sharded (FSDP), checkpoints and evaluation.
#pragma once

#include <vector>

#include "producers/simulate/function_catalog.h"
#include "producers/simulate/rank_program.h"
#include "producers/simulate/simulated_job.h"

namespace eroica::simulate {

// One program a pipeline stage. Requires Check(job).ok(). Sends and receives of neighboring stages match in number and order.
std::vector<RankProgram> BuildPrograms(const SimulatedJob& job, FunctionCatalog& catalog);

}  // namespace eroica::simulate
