#include "diagnosis/measurements/role_learning.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "diagnosis/measurements/synthetic_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eroica {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<uint32_t> Roles(const SyntheticJob& job) {
  const CrossRankView view(job.batches, job.summaries);
  std::vector<uint32_t> roles;
  for (const RankView& rank : view.ranks()) roles.push_back(rank.role);
  return roles;
}

constexpr FunctionClass kKernel = FunctionClass::kGpuCompute;

void RunLayers(SyntheticJob* job) {
  for (const char* name : {"gemm_fwd", "gemm_bwd", "softmax", "layer_norm", "gelu", "adam"})
    job->RunOnAll(kKernel, name, 0.1);
}

std::vector<uint32_t> WorldOf(const SyntheticJob& job) {
  std::vector<uint32_t> ranks;
  for (const PatternBatch& batch : job.batches) ranks.push_back(batch.rank.value);
  return ranks;
}

// Pipeline of four stages, two replicas: the layout of the trace pp4dp2.
SyntheticJob PipelineTimesData() {
  SyntheticJob job(8);
  RunLayers(&job);
  job.Pipeline({{0, 1}, {1, 2}, {2, 3}});
  job.Pipeline({{4, 5}, {5, 6}, {6, 7}});
  for (uint32_t stage = 0; stage < 4; ++stage) job.Group({stage, stage + 4});
  job.Group({0, 1, 2, 3, 4, 5, 6, 7}, 8);
  return job;
}

TEST(RoleLearning, TakesTheProducersWord) {
  SyntheticJob job(4);
  for (uint32_t rank = 0; rank < 4; ++rank)
    job.batches[rank].role = rank % 2 == 0 ? "stage0" : "stage1";
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 0, 1));
}

TEST(RoleLearning, DataParallelRanksAreOneRole) {
  SyntheticJob job(16);
  RunLayers(&job);
  job.Group(WorldOf(job));
  EXPECT_THAT(Roles(job), Each(0));
}

TEST(RoleLearning, PointToPointTrafficGivesTheStages) {
  const SyntheticJob job = PipelineTimesData();
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST(RoleLearning, AMissingRankMakesNoFalseStages) {
  SyntheticJob job = PipelineTimesData();
  job.batches.erase(job.batches.begin() + 5);
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 3, 0, 2, 3)) << "its pairs still place the others";
  job.summaries[1].pairs.clear();
  job.summaries[1].pairs.push_back({.source = RankId{6}, .destination = RankId{7}, .count = 40});
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 3, 0, 2, 3))
      << "a rest of two does not start at stage 0: the data-parallel groups tell";
}

// Of a single pipeline no second one tells how long it is: the end of the longer piece would be the
// last stage of five, and by the tied embeddings a peer of the first.
TEST(RoleLearning, PiecesOfAPipelineAreNoPeers) {
  SyntheticJob job(8);
  RunLayers(&job);
  job.Pipeline({{0, 1}, {1, 2}, {3, 4}, {4, 5}, {5, 6}, {6, 7}});
  job.Group({0, 7});
  job.Group({0, 1, 2, 3, 4, 5, 6, 7}, 8);
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  job.Pipeline({{2, 3}});
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(RoleLearning, CommunicatorsOfOnePairEachFormThePipelineTogether) {
  SyntheticJob job(6);
  RunLayers(&job);
  job.Pipeline({{0, 1}});
  job.Pipeline({{1, 2}});
  job.Pipeline({{3, 4}});
  job.Pipeline({{4, 5}});
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(RoleLearning, TensorParallelPartnersShareTheStage) {
  // stage = rank / 4, replica = rank / 2 % 2, tensor index = rank % 2; only tensor index 0 talks
  // across stages
  SyntheticJob job(8);
  RunLayers(&job);
  job.Pipeline({{0, 4}});
  job.Pipeline({{2, 6}});
  for (uint32_t rank = 0; rank < 8; rank += 2) job.Group({rank, rank + 1});
  EXPECT_THAT(Roles(job), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(RoleLearning, ARingOfSendersIsNoPipeline) {
  SyntheticJob job(4);  // context parallelism
  RunLayers(&job);
  job.Pipeline({{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  EXPECT_THAT(Roles(job), Each(0));
}

// Two interleaved pipelines of four stages, over the ranks of even and of odd number.
SyntheticJob Interleaved() {
  SyntheticJob job(8);
  RunLayers(&job);
  for (uint32_t replica = 0; replica < 2; ++replica) {
    job.Pipeline({{replica, replica + 2},
                  {replica + 2, replica + 4},
                  {replica + 4, replica + 6},
                  {replica + 6, replica}});
    job.summaries.back().pairs.back().count /= 2;
  }
  return job;
}

TEST(RoleLearning, AnInterleavedPipelineIsOpenWhereItSendsLess) {
  EXPECT_THAT(Roles(Interleaved()), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(RoleLearning, LostMessagesMoveNoStageOfAnInterleavedPipeline) {
  SyntheticJob job = Interleaved();
  const uint64_t sent = job.summaries[0].pairs[1].count;
  job.summaries[0].pairs[1].count = sent * 2 / 5;  // fewer than from the last stage to the first
  job.summaries[1].pairs[0].count = sent * 4 / 5;
  EXPECT_THAT(Roles(job), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(RoleLearning, AStrayMessageMakesNoStages) {
  SyntheticJob job(64);
  RunLayers(&job);
  job.Pipeline({{3, 5}}, 1);
  EXPECT_THAT(Roles(job), Each(0));
}

TEST(RoleLearning, ACulpritWithAnExtraFunctionKeepsItsPeers) {
  SyntheticJob job(8);
  RunLayers(&job);
  job.Group(WorldOf(job));
  job.Run(3, FunctionClass::kPython, "throttled_layer_extra_work", 0.3);
  job.Run(3, kKernel, "redundant_matmuls", 0.2);
  EXPECT_THAT(Roles(job), Each(0));
}

TEST(RoleLearning, ManyCulpritsWithAnExtraFunctionKeepTheirPeers) {
  SyntheticJob job(32);
  RunLayers(&job);
  job.Group(WorldOf(job));
  for (uint32_t rank = 8; rank < 16; ++rank) {
    for (const char* name : {"extra_a", "extra_b", "extra_c"}) job.Run(rank, kKernel, name, 0.1);
  }
  EXPECT_THAT(Roles(job), Each(0))
      << "a whole host of culprits, three functions more: one world, one role";
}

TEST(RoleLearning, AHostWithOneExtraFunctionKeepsItsPeers) {
  SyntheticJob job(16);
  RunLayers(&job);
  for (uint32_t host = 0; host < 2; ++host) {
    std::vector<uint32_t> ranks;
    for (uint32_t i = 0; i < 8; ++i) ranks.push_back(host * 8 + i);
    job.Group(ranks);
  }
  for (uint32_t rank = 8; rank < 16; ++rank) job.Run(rank, kKernel, "extra_a", 0.2);
  EXPECT_THAT(Roles(job), Each(0))
      << "its groups would bear the split, but one function is too little";
}

TEST(RoleLearning, ACulpritThatLacksFunctionsKeepsItsPeers) {
  SyntheticJob job(8);
  RunLayers(&job);
  job.Group(WorldOf(job));
  job.batches[5].patterns.resize(2);
  job.batches[6].patterns.resize(1);
  job.batches[7].patterns.resize(1);
  EXPECT_THAT(Roles(job), Each(0)) << "ranks that hang run fewer functions, not other ones";
}

TEST(RoleLearning, ACulpritInAPipelineKeepsItsStage) {
  SyntheticJob job = PipelineTimesData();
  for (const char* name : {"a", "b", "c", "d", "e"}) job.Run(6, kKernel, name, 0.1);
  EXPECT_THAT(Roles(job), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

// Interleaved stages send in a ring, so that only functions and groups tell first, middle and last
// apart.
SyntheticJob InterleavedPipeline() {
  SyntheticJob job(16);  // four stages of four replicas
  RunLayers(&job);
  for (uint32_t replica = 0; replica < 4; ++replica) {
    const uint32_t first = replica * 4;
    job.Pipeline(
        {{first, first + 1}, {first + 1, first + 2}, {first + 2, first + 3}, {first + 3, first}});
    for (const char* name : {"embedding_fwd", "embedding_bwd", "position"})
      job.Run(first, kKernel, name, 0.05);
    for (const char* name : {"head_gemm", "log_softmax", "nll_loss", "head_bwd"})
      job.Run(first + 3, kKernel, name, 0.05);
    job.Group({first, first + 3}, 1'000);  // tied embeddings
  }
  for (uint32_t stage = 0; stage < 4; ++stage) job.Group({stage, stage + 4, stage + 8, stage + 12});
  return job;
}

TEST(RoleLearning, FunctionsAndGroupsTellTheStagesOfARing) {
  SyntheticJob job = InterleavedPipeline();
  const std::vector<uint32_t> expected{0, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 2};
  EXPECT_EQ(Roles(job), expected);
  for (const char* name : {"a", "b", "c", "d", "e"}) job.Run(6, kKernel, name, 0.1);
  EXPECT_EQ(Roles(job), expected) << "a culprit does not change it";
}

TEST(RoleLearning, DifferentProgramsAreDifferentRoles) {
  SyntheticJob job(12);
  for (uint32_t rank = 0; rank < 12; ++rank) {
    const std::string program = rank < 8 ? "actor_" : "critic_";
    for (const char* name : {"gemm", "attention", "norm", "sample"})
      job.Run(rank, kKernel, program + name, 0.1);
    job.Run(rank, kKernel, "adam", 0.1);
  }
  job.Group(WorldOf(job));
  EXPECT_THAT(Roles(job), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(RoleLearning, TwoRanksAreOneRole) {
  SyntheticJob job(2);
  job.Run(0, kKernel, "a", 0.5);
  job.Run(1, kKernel, "b", 0.5);
  EXPECT_THAT(Roles(job), ElementsAre(0, 0));
}

TEST(RoleLearning, HostOnlyRanksAreToldApartByCpuOperators) {
  SyntheticJob job = InterleavedPipeline();
  for (PatternBatch& batch : job.batches) {
    batch.host_only = true;
    for (FunctionPattern& pattern : batch.patterns) {
      pattern.function_class = FunctionClass::kCpuOp;
      pattern.function = HashFunction(pattern.function_class, pattern.name, FunctionId{0});
    }
  }
  EXPECT_EQ(Roles(job), Roles(InterleavedPipeline()));
}

TEST(RoleLearning, TheOrderOfInputDoesNotMatter) {
  const SyntheticJob job = InterleavedPipeline();
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    SyntheticJob shuffled = job;
    std::shuffle(shuffled.batches.begin(), shuffled.batches.end(), random);
    std::shuffle(shuffled.summaries.begin(), shuffled.summaries.end(), random);
    EXPECT_EQ(Roles(shuffled), Roles(job));
  }
}

const PatternBatch kReports;  // whatever it reports

std::vector<RankView> Ranks(std::initializer_list<uint32_t> numbers) {
  std::vector<RankView> ranks;
  for (const uint32_t number : numbers)
    ranks.push_back({.rank = RankId{number}, .batch = &kReports});
  return ranks;
}

// Windows of the same processes that showed these roles.
std::vector<RankTimes> Past(std::span<const RankView> ranks,
                            std::initializer_list<std::string_view> roles) {
  std::vector<RankTimes> past;
  for (const std::string_view text : roles) {
    past.emplace_back().roles = text;
    past.back().processes = FingerprintOfProcesses(ranks);
  }
  return past;
}

TEST(RoleMemory, WritesStretchesOfRanks) {
  const std::vector<uint32_t> roles = {0, 0, 1, 1, 0};
  EXPECT_EQ(EncodeRoles(Ranks({0, 1, 2, 4, 5}), roles), "0+2=0 2+1=1 4+1=1 5+1=0 ");
}

TEST(RoleMemory, RolesThatAlternateOverManyRanksAreNotRemembered) {
  std::vector<RankView> ranks;
  std::vector<uint32_t> roles;
  for (uint32_t rank = 0; rank < 2'000; ++rank) {
    ranks.push_back({.rank = RankId{rank}, .batch = &kReports});
    roles.push_back(rank % 2);
  }
  EXPECT_EQ(EncodeRoles(ranks, roles), "");
  EXPECT_EQ(RolesOfJob(ranks, Past(ranks, {"", "", ""}), roles), roles);
}

TEST(RoleMemory, AWindowThatShowsTheLayoutWronglyIsOverruled) {
  const auto ranks = Ranks({0, 1, 2, 3});
  EXPECT_THAT(RolesOfJob(ranks, Past(ranks, {"0+2=0 2+2=1 ", "0+2=0 2+2=1 "}), {0, 1, 1, 1}),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(RolesOfJob(ranks, Past(ranks, {"0+2=0 2+2=1 "}), {0, 1, 1, 1}),
              ElementsAre(0, 1, 2, 2))
      << "one against one: peers are who both say";
}

TEST(RoleMemory, WindowsThatAreWrongInDifferentWaysAreOverruledByTheFewThatAgree) {
  const auto ranks = Ranks({0, 1, 2, 3});
  const auto past = Past(ranks, {"0+2=0 2+2=1 ", "0+4=0 ", "0+2=0 2+2=1 ", "0+3=0 3+1=1 "});
  EXPECT_THAT(RolesOfJob(ranks, past, {0, 1, 1, 1}), ElementsAre(0, 0, 1, 1));
}

TEST(RoleMemory, AWrongBeginningIsOverruledByWhatFollows) {
  const auto ranks = Ranks({0, 1, 2, 3});
  const auto past = Past(ranks, {"0+1=0 1+3=1 ", "0+1=0 1+3=1 ", "0+2=0 2+2=1 "});
  EXPECT_THAT(RolesOfJob(ranks, past, {0, 0, 1, 1}), ElementsAre(0, 1, 2, 2));
  const auto longer = Past(ranks, {"0+1=0 1+3=1 ", "0+1=0 1+3=1 ", "0+2=0 2+2=1 ", "0+2=0 2+2=1 "});
  EXPECT_THAT(RolesOfJob(ranks, longer, {0, 0, 1, 1}), ElementsAre(0, 0, 1, 1));
}

TEST(RoleMemory, SilentRanksLeaveNoGapInTheRoles) {
  const auto ranks = Ranks({2, 3, 4});
  EXPECT_THAT(
      RolesOfJob(ranks, Past(ranks, {"0+2=0 2+2=1 4+1=2 ", "0+2=0 2+2=1 4+1=2 "}), {0, 0, 0}),
      ElementsAre(0, 0, 1));
}

// What they reported was lost.
TEST(RoleMemory, AFewSilentRanksDoNotMakeOtherProcesses) {
  auto ranks = Ranks({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const auto past = Past(ranks, {"0+8=0 8+8=1 ", "0+8=0 8+8=1 "});
  for (const size_t silent : {3u, 9u}) ranks[silent].silent = true;
  const std::vector<uint32_t> roles = RolesOfJob(ranks, past, std::vector<uint32_t>(16, 0));
  EXPECT_EQ(roles[7], 0u);
  EXPECT_EQ(roles[8], 1u);
}

// The ranks 0 and 1 were the whole first stage of a job that has shrunk to them.
TEST(RoleMemory, OtherProcessesMayHaveAnotherLayout) {
  const auto ranks = Ranks({0, 1});
  EXPECT_THAT(
      RolesOfJob(ranks, Past(Ranks({0, 1, 2, 3}), {"0+2=0 2+2=1 ", "0+2=0 2+2=1 "}), {0, 1}),
      ElementsAre(0, 1));
  PatternBatch restarted;
  restarted.pid = 2;
  auto anew = Ranks({0, 1});
  for (RankView& rank : anew) rank.batch = &restarted;
  EXPECT_THAT(RolesOfJob(anew, Past(ranks, {"0+2=0 ", "0+2=0 "}), {0, 1}), ElementsAre(0, 1));
}

TEST(RoleMemory, WhatIsNoListOfRolesIsNotRead) {
  const auto ranks = Ranks({0, 1});
  for (const std::string_view text :
       {"stage 1", "0+2", "0+2=", "0+2=0", "+=", "0+99999999999=0 "}) {
    EXPECT_THAT(RolesOfJob(ranks, Past(ranks, {text, text}), {0, 1}), ElementsAre(0, 1)) << text;
  }
}

}  // namespace
}  // namespace eroica
