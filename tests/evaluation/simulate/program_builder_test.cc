#include "tests/evaluation/simulate/program_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace eroica::simulate {
namespace {

using ::testing::ElementsAre;

struct Built {
  FunctionCatalog catalog;
  std::vector<RankProgram> programs;

  explicit Built(const SimulatedJob& job) { programs = BuildPrograms(job, catalog); }
  std::vector<Instruction> Where(uint32_t stage,
                                 const std::function<bool(const Instruction&)>& fits) const {
    std::vector<Instruction> found;
    std::copy_if(programs[stage].instructions.begin(), programs[stage].instructions.end(),
                 std::back_inserter(found), fits);
    return found;
  }
  std::vector<Instruction> Collectives(uint32_t stage, GroupKind group,
                                       CollectiveOperation operation) const {
    return Where(stage, [&](const Instruction& i) {
      return i.kind == InstructionKind::kCollective && i.group == group && i.operation == operation;
    });
  }
};

SimulatedJob Job(const ParallelLayout& layout) {
  SimulatedJob job;
  job.layout = layout;
  return job;
}

TEST(ProgramBuilder, MarksTheStepInOrder) {
  SimulatedJob job = Job({.data = 2});
  job.workload.evaluation = {.every = 4, .duration_ns = 1'000'000};
  job.workload.checkpoint = {.every = 8, .duration_ns = 1'000'000};
  const Built built(job);
  std::vector<MarkKind> marks;
  for (const Instruction& instruction : built.programs[0].instructions) {
    if (instruction.kind != InstructionKind::kMark) continue;
    marks.push_back(instruction.mark);
    const bool evaluation = instruction.mark == MarkKind::kEvaluationBegin ||
                            instruction.mark == MarkKind::kEvaluationEnd;
    const bool checkpoint = instruction.mark == MarkKind::kCheckpointBegin ||
                            instruction.mark == MarkKind::kCheckpointEnd;
    EXPECT_EQ(instruction.every, evaluation ? 4u : checkpoint ? 8u : 0u);
  }
  EXPECT_THAT(
      marks,
      ElementsAre(MarkKind::kStepBegin, MarkKind::kDataloaderNext, MarkKind::kForwardBegin,
                  MarkKind::kBackwardBegin, MarkKind::kOptimizerBegin, MarkKind::kOptimizerStep,
                  MarkKind::kEvaluationBegin, MarkKind::kEvaluationEnd, MarkKind::kCheckpointBegin,
                  MarkKind::kCheckpointEnd, MarkKind::kStepEnd));
}

TEST(ProgramBuilder, WhatGrowsWithItsMicroBatchNamesIt) {
  const Built built(Job({.tensor = 2, .data = 2, .pipeline = 2}));
  for (uint32_t stage = 0; stage < 2; ++stage) {
    for (const Instruction& instruction : built.programs[stage].instructions) {
      const bool of_pass =
          instruction.kind == InstructionKind::kKernel &&
          (instruction.phase == Phase::kForward || instruction.phase == Phase::kBackward);
      const bool passed_on = instruction.kind == InstructionKind::kSend ||
                             instruction.kind == InstructionKind::kReceive;
      if (of_pass || passed_on || instruction.group == GroupKind::kTensor) {
        EXPECT_LT(instruction.micro_batch, Workload{}.micro_batches);
      }
      if (instruction.phase == Phase::kOptimizer || instruction.kind == InstructionKind::kHost) {
        EXPECT_EQ(instruction.micro_batch, Instruction::kNoMicroBatch);
      }
    }
  }
}

TEST(ProgramBuilder, EachPhaseIsThere) {
  const Built built(Job({}));
  for (int phase = 0; phase < kPhaseCount; ++phase) {
    EXPECT_FALSE(
        built
            .Where(0,
                   [phase](const Instruction& i) { return i.phase == static_cast<Phase>(phase); })
            .empty())
        << phase;
  }
}

TEST(ProgramBuilder, ARankOnItsOwnCommunicatesWithNobody) {
  const Built built(Job({}));
  EXPECT_EQ(built.programs[0].tickets, 0u);
  EXPECT_TRUE(built.Where(0, [](const Instruction& i) { return i.kind == InstructionKind::kAwait; })
                  .empty());
}

TEST(ProgramBuilder, DatasetFramesHangUnderTheLoader) {
  const Built built(Job({}));
  const auto host = built.Where(0, [](const Instruction& i) {
    return i.kind == InstructionKind::kHost && i.phase == Phase::kData;
  });
  ASSERT_EQ(host.size(), 1u);
  EXPECT_EQ(host[0].duration_ns, Workload{}.data_ns);
  const auto& functions = built.catalog.functions();
  const FunctionDef& item = functions[host[0].function];
  EXPECT_EQ(item.name, "dataset.py: __getitem__");
  EXPECT_EQ(functions[item.parent].name, "dataloader.py: __next__");
  EXPECT_EQ(functions[functions[item.parent].parent].name, "train.py: main");
}

TEST(ProgramBuilder, TensorParallelLayersReduceTwiceEachWay) {
  SimulatedJob job = Job({.tensor = 2});
  job.workload.layers = 3;
  job.workload.micro_batches = 5;
  const auto reduced =
      Built(job).Collectives(0, GroupKind::kTensor, CollectiveOperation::kAllReduce);
  EXPECT_EQ(reduced.size(), 5u * (3 * 4 + 1));  // and once after the embedding
  for (const Instruction& instruction : reduced)
    EXPECT_EQ(instruction.bytes, job.workload.activation_bytes);
}

TEST(ProgramBuilder, TensorExchangesAreAwaitedAtOnce) {
  const Built built(Job({.tensor = 4, .context = 2}));
  const std::vector<Instruction>& program = built.programs[0].instructions;
  for (size_t i = 0; i < program.size(); ++i) {
    if (program[i].kind != InstructionKind::kCollective) continue;
    if (program[i].group != GroupKind::kTensor && program[i].group != GroupKind::kContext) continue;
    ASSERT_EQ(program[i + 1].kind, InstructionKind::kAwait);
    EXPECT_EQ(program[i + 1].ticket, program[i].ticket);
  }
}

TEST(ProgramBuilder, ContextExchangesStandAroundAttention) {
  SimulatedJob job = Job({.context = 2});
  job.workload.layers = 2;
  job.workload.micro_batches = 1;
  const Built built(job);
  EXPECT_EQ(built.Collectives(0, GroupKind::kContext, CollectiveOperation::kAllGather).size(),
            2u * 2);
  EXPECT_EQ(built.Collectives(0, GroupKind::kContext, CollectiveOperation::kReduceScatter).size(),
            2u);
  const std::vector<Instruction>& program = built.programs[0].instructions;
  for (size_t i = 0; i < program.size(); ++i) {
    if (program[i].kind != InstructionKind::kKernel || program[i].kernel != KernelKind::kAttention)
      continue;
    EXPECT_EQ(program[i - 1].kind, InstructionKind::kAwait);
    EXPECT_EQ(program[i - 2].group, GroupKind::kContext);
  }
}

TEST(ProgramBuilder, EveryOtherLayerOfExpertsHasTwoAllToAllsEachWay) {
  SimulatedJob job = Job({.data = 4, .expert = 2});
  job.workload.layers = 5;
  job.workload.micro_batches = 2;
  job.workload.expert_every = 2;
  const Built built(job);
  EXPECT_EQ(built.Collectives(0, GroupKind::kExpert, CollectiveOperation::kAllToAll).size(),
            2u * 2 * 4);
  const auto experts =
      built.Where(0, [](const Instruction& i) { return i.kernel == KernelKind::kExpertMatrix; });
  EXPECT_FALSE(experts.empty());
}

TEST(ProgramBuilder, GradientsAreReducedOnceInBucketsAndAwaitedBeforeTheOptimizer) {
  for (const bool sharded : {false, true}) {
    SimulatedJob job = Job({.data = 2, .sharded = sharded});
    job.workload.layers = 7;
    job.workload.gradient_buckets = 3;
    const Built built(job);
    const auto operation =
        sharded ? CollectiveOperation::kReduceScatter : CollectiveOperation::kAllReduce;
    const auto buckets = built.Collectives(0, GroupKind::kData, operation);
    ASSERT_EQ(buckets.size(), 3u);
    uint64_t bytes = 0;
    for (const Instruction& bucket : buckets) {
      EXPECT_EQ(bucket.phase, Phase::kGradients);
      bytes += bucket.bytes;
    }
    EXPECT_EQ(bytes, 9 * job.workload.parameter_bytes);  // and embedding and head
    size_t awaited = 0;
    for (const Instruction& instruction : built.programs[0].instructions) {
      if (instruction.kind == InstructionKind::kMark &&
          instruction.mark == MarkKind::kOptimizerBegin)
        break;
      const auto same = [&](const Instruction& bucket) {
        return bucket.ticket == instruction.ticket;
      };
      if (instruction.kind == InstructionKind::kAwait &&
          std::any_of(buckets.begin(), buckets.end(), same))
        ++awaited;
    }
    EXPECT_EQ(awaited, 3u);
  }
}

TEST(ProgramBuilder, MoreBucketsThanLayersAreAsManyAsLayers) {
  SimulatedJob job = Job({.data = 2});
  job.workload.layers = 2;
  job.workload.gradient_buckets = 100;
  EXPECT_EQ(Built(job).Collectives(0, GroupKind::kData, CollectiveOperation::kAllReduce).size(),
            2u);
}

TEST(ProgramBuilder, ShardedParametersAreGatheredOneLayerAhead) {
  SimulatedJob job = Job({.data = 2, .sharded = true});
  job.workload.layers = 4;
  job.workload.micro_batches = 3;
  job.workload.kernels_per_layer = 2;
  const Built built(job);
  EXPECT_EQ(built.Collectives(0, GroupKind::kData, CollectiveOperation::kAllGather).size(),
            3u * 4 * 2);
  // When a layer's parameters are awaited, those of the next one but the last have been asked for.
  int32_t gathering = 0;
  int32_t most = 0;
  for (const Instruction& instruction : built.programs[0].instructions) {
    if (instruction.phase == Phase::kGradients) break;
    if (instruction.operation == CollectiveOperation::kAllGather)
      most = std::max(most, ++gathering);
    if (instruction.kind == InstructionKind::kAwait) --gathering;
    EXPECT_GE(gathering, 0);
  }
  EXPECT_EQ(most, 2);
}

TEST(ProgramBuilder, OnlyTheEndsOfThePipelineShareTheEmbedding) {
  const Built built(Job({.pipeline = 4}));
  const auto shared = [&](uint32_t stage) {
    return built.Collectives(stage, GroupKind::kEmbedding, CollectiveOperation::kAllReduce).size();
  };
  EXPECT_EQ(shared(0), 1u);
  EXPECT_EQ(shared(1), 0u);
  EXPECT_EQ(shared(2), 0u);
  EXPECT_EQ(shared(3), 1u);
  const auto embeds = [](const Instruction& i) {
    return i.kind == InstructionKind::kKernel && i.kernel == KernelKind::kEmbedding;
  };
  EXPECT_EQ(built.Where(0, embeds).size(), size_t{2} * Workload{}.micro_batches);
  EXPECT_TRUE(built.Where(3, embeds).empty());
}

TEST(ProgramBuilder, GarbageIsCollectedOnOccasion) {
  SimulatedJob job = Job({});
  job.workload.garbage_collection = {.every = 6, .duration_ns = 50'000'000};
  const auto collected = Built(job).Where(0, [](const Instruction& i) { return i.every > 0; });
  ASSERT_EQ(collected.size(), 1u);
  EXPECT_EQ(collected[0].every, 6u);
  EXPECT_EQ(collected[0].duration_ns, 50'000'000);
}

TEST(ProgramBuilder, CollectivesLookLikeNccl) {
  SimulatedJob job = Job({.tensor = 2, .data = 2, .pipeline = 2});
  const Built built(job);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    for (const Instruction& instruction : built.programs[stage].instructions) {
      const FunctionDef& function = built.catalog.functions()[instruction.function];
      if (instruction.operation != CollectiveOperation::kUnknown) {
        EXPECT_EQ(function.function_class, FunctionClass::kCollective);
        EXPECT_TRUE(function.name.starts_with("ncclDevKernel_")) << function.name;
      }
      if (instruction.kind != InstructionKind::kSynchronize) continue;
      EXPECT_EQ(function.wait, WaitKind::kPeer);
      EXPECT_EQ(function.function_class, FunctionClass::kCpuOp);
    }
  }
}

TEST(ProgramBuilder, ProgramsAreOfStagesNotOfRanks) {
  SimulatedJob job = Job({.tensor = 8, .data = 157, .pipeline = 8});  // 10,048 ranks
  job.workload.layers = 32;
  job.workload.micro_batches = 16;
  ASSERT_TRUE(Check(job).ok());
  const Built built(job);
  ASSERT_EQ(built.programs.size(), 8u);
  for (const RankProgram& program : built.programs) EXPECT_LT(program.instructions.size(), 4'000u);
  EXPECT_LT(built.catalog.functions().size(), 60u);
}

TEST(ProgramBuilder, TheSameJobGivesTheSameProgram) {
  const SimulatedJob job = Job({.tensor = 2, .data = 2, .pipeline = 2, .virtual_stages = 2});
  const Built one(job);
  const Built two(job);
  EXPECT_EQ(one.catalog.functions(), two.catalog.functions());
  for (size_t stage = 0; stage < one.programs.size(); ++stage) {
    ASSERT_EQ(one.programs[stage].instructions.size(), two.programs[stage].instructions.size());
    for (size_t i = 0; i < one.programs[stage].instructions.size(); ++i) {
      EXPECT_EQ(one.programs[stage].instructions[i].function,
                two.programs[stage].instructions[i].function);
      EXPECT_EQ(one.programs[stage].instructions[i].ticket,
                two.programs[stage].instructions[i].ticket);
    }
  }
}

}  // namespace
}  // namespace eroica::simulate
