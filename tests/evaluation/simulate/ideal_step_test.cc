// Every combination of dimensions gives programs that are well formed and that end, in the time
// that the papers on pipelines say.
#include "tests/evaluation/simulate/ideal_step.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/evaluation/simulate/program_builder.h"

namespace eroica::simulate {
namespace {

using ::testing::HasSubstr;

std::vector<SimulatedJob> ManyJobs() {
  std::vector<SimulatedJob> jobs;
  for (const uint32_t pipeline : {1u, 2u, 3u, 4u, 8u}) {
    for (const uint32_t virtual_stages : {1u, 2u, 3u}) {
      for (uint32_t variant = 0; variant < 16; ++variant) {
        if (virtual_stages > 1 && pipeline == 1) continue;
        SimulatedJob job;
        job.layout = {.tensor = variant % 2 + 1,
                      .context = variant / 2 % 2 + 1,
                      .data = 4,
                      .pipeline = pipeline,
                      .expert = variant / 4 % 2 * 3 + 1,
                      .virtual_stages = virtual_stages,
                      .sharded = variant >= 8};
        job.workload.layers = pipeline * virtual_stages + variant % 5;
        job.workload.micro_batches =
            virtual_stages > 1 ? pipeline * (1 + variant % 3) : 1 + variant;
        job.workload.expert_every = variant / 4 % 2 * 2;
        job.workload.checkpoint = {.every = variant % 3, .duration_ns = 1'000'000};
        job.workload.evaluation = {.every = variant % 4, .duration_ns = 1'000'000};
        jobs.push_back(job);
      }
    }
  }
  return jobs;
}

std::string Describe(const SimulatedJob& job) {
  return fmt::format(
      "tensor {} context {} data {} pipeline {} expert {} virtual {} sharded {} layers {} micro "
      "batches {}",
      job.layout.tensor, job.layout.context, job.layout.data, job.layout.pipeline,
      job.layout.expert, job.layout.virtual_stages, job.layout.sharded, job.workload.layers,
      job.workload.micro_batches);
}

void ExpectWellFormed(const SimulatedJob& job, const RankProgram& program) {
  std::vector<const Instruction*> frames;
  std::vector<const Instruction*> launched;
  for (const Instruction& instruction : program.instructions) {
    switch (instruction.kind) {
      case InstructionKind::kEnterFrame: frames.push_back(&instruction); break;
      case InstructionKind::kLeaveFrame:
        ASSERT_FALSE(frames.empty());
        EXPECT_EQ(frames.back()->function, instruction.function);
        EXPECT_EQ(frames.back()->every, instruction.every);
        frames.pop_back();
        break;
      case InstructionKind::kCollective:
      case InstructionKind::kSend:
      case InstructionKind::kReceive:
        EXPECT_EQ(instruction.ticket, launched.size());
        EXPECT_GT(GroupSize(job.layout, instruction.group), 1u);
        EXPECT_GT(instruction.bytes, 0u);
        launched.push_back(&instruction);
        break;
      case InstructionKind::kAwait:
        ASSERT_LT(instruction.ticket, launched.size());
        EXPECT_EQ(launched[instruction.ticket]->every, instruction.every);
        break;
      case InstructionKind::kKernel: EXPECT_GT(instruction.duration_ns, 0); break;
      case InstructionKind::kHost: EXPECT_GT(instruction.duration_ns, 0); break;
      case InstructionKind::kSynchronize:
      case InstructionKind::kMark: break;
    }
  }
  EXPECT_TRUE(frames.empty());
  EXPECT_EQ(launched.size(), program.tickets);
}

TEST(IdealStep, EveryCombinationIsWellFormedAndEnds) {
  for (const SimulatedJob& job : ManyJobs()) {
    SCOPED_TRACE(Describe(job));
    ASSERT_TRUE(Check(job).ok()) << Check(job);
    FunctionCatalog catalog;
    const std::vector<RankProgram> programs = BuildPrograms(job, catalog);
    for (const RankProgram& program : programs) ExpectWellFormed(job, program);
    const auto step_ns = IdealStepTime(job, programs);
    ASSERT_TRUE(step_ns.ok()) << step_ns.status();
    // Nobody works faster than the stage's share of the layers.
    const Workload& workload = job.workload;
    EXPECT_GE(*step_ns, 3 * workload.layer_forward_ns * workload.micro_batches *
                            (workload.layers / job.layout.pipeline));
  }
}

// A job whose stages are all the same, and whose time is all in its layers.
SimulatedJob EvenJob(uint32_t pipeline, uint32_t virtual_stages, uint32_t micro_batches) {
  SimulatedJob job;
  job.layout = {.pipeline = pipeline, .virtual_stages = virtual_stages};
  job.workload.layers = 24;
  job.workload.micro_batches = micro_batches;
  job.workload.layer_forward_ns = 100'000'000;
  job.workload.embedding_layers = 0;
  job.workload.head_layers = 0;
  job.workload.data_ns = 0;
  job.workload.launch_ns = 1;
  job.workload.optimizer_ns = 1'000;
  job.workload.activation_bytes = 4;
  return job;
}

// Narayanan et al.: the bubble is (p - 1) / (m v) of the time of all micro batches.
TEST(IdealStep, TheBubbleIsThatOfThePapers) {
  for (const uint32_t pipeline : {1u, 2u, 4u, 8u}) {
    for (const uint32_t virtual_stages : {1u, 3u}) {
      for (const uint32_t micro_batches : {8u, 16u, 32u}) {
        if (virtual_stages > 1 && pipeline == 1) continue;
        const auto step_ns = IdealStepTime(EvenJob(pipeline, virtual_stages, micro_batches));
        ASSERT_TRUE(step_ns.ok());
        const double all_micro_batches = 3.0 * 100e6 * micro_batches * 24 / pipeline;
        const double expected =
            all_micro_batches * (1 + (pipeline - 1.0) / (micro_batches * virtual_stages));
        EXPECT_NEAR(static_cast<double>(*step_ns) / expected, 1, 0.001)
            << pipeline << " " << virtual_stages << " " << micro_batches;
      }
    }
  }
}

TEST(IdealStep, TheTrainingThreadCanBeTheSlowerOne) {
  SimulatedJob job;
  const auto device_bound = IdealStepTime(job);
  job.workload.launch_ns = 5'000'000;
  const auto launch_bound = IdealStepTime(job);
  ASSERT_TRUE(device_bound.ok() && launch_bound.ok());
  EXPECT_GT(*launch_bound, 2 * *device_bound);
}

TEST(IdealStep, SaysWhereStagesStandStill) {
  SimulatedJob job;
  job.layout.pipeline = 2;
  FunctionCatalog catalog;
  std::vector<RankProgram> programs = BuildPrograms(job, catalog);
  auto& first = programs[0].instructions;
  first.erase(std::find_if(first.begin(), first.end(),
                           [](const Instruction& i) { return i.kind == InstructionKind::kSend; }));
  EXPECT_THAT(std::string(IdealStepTime(job, programs).status().message()),
              HasSubstr("stands still at instruction"));
}

TEST(IdealStep, SaysWhichMessagesDiffer) {
  SimulatedJob job;
  job.layout.pipeline = 2;
  FunctionCatalog catalog;
  std::vector<RankProgram> programs = BuildPrograms(job, catalog);
  auto& first = programs[0].instructions;
  std::find_if(first.begin(), first.end(), [](const Instruction& i) {
    return i.kind == InstructionKind::kSend;
  })->bytes += 1;
  EXPECT_THAT(std::string(IdealStepTime(job, programs).status().message()),
              HasSubstr("send 0 of stage 0 to stage 1 has"));
}

}  // namespace
}  // namespace eroica::simulate
