// From the layout and the workload to what each pipeline stage runs in a step: 1F1B, plain and
// interleaved, tensor and context parallelism inside the layers, experts with their all-to-alls,
// gradients reduced in buckets or sharded (FSDP), checkpoints and evaluation.
//
// Read on in pipeline_schedule.h (which pass comes when, and who sends what to whom),
// model_passes.h (what a pass consists of), layer_kernels.h (the kernels and their shares of time),
// program_writer.h (how it becomes instructions). Papers:
//   schedules            Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML'21
//                        (1F1B with flushes); Narayanan et al., Efficient Large-Scale Language
//                        Model Training on GPU Clusters, SC'21 (interleaved)
//   tensor parallelism   Shoeybi et al., Megatron-LM, 2019
//   experts              Lepikhin et al., GShard, ICLR'21
//   sharding             Zhao et al., PyTorch FSDP, VLDB'23
//   gradient buckets     Li et al., PyTorch Distributed, VLDB'20
//
// A step on the training thread: take a batch; launch the passes of all micro batches as the
// schedule has them, far ahead of the device; launch what finishes gradients and the optimizer;
// wait for the device inside cudaStreamSynchronize, as loss.item() does; once in a while collect
// garbage, evaluate, save.
#pragma once

#include <vector>

#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/rank_program.h"
#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

// One program a pipeline stage. Requires Check(job).ok(). Sends and receives of neighboring stages
// match in number and order.
std::vector<RankProgram> BuildPrograms(const SimulatedJob& job, FunctionCatalog& catalog);

}  // namespace eroica::simulate
