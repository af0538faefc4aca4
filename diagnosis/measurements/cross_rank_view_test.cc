#include "diagnosis/measurements/cross_rank_view.h"

#include <algorithm>
#include <limits>
#include <random>

#include "diagnosis/measurements/hidden_work.h"
#include "diagnosis/measurements/synthetic_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FunctionId IdOf(FunctionClass function_class, std::string_view name) {
  return HashFunction(function_class, name, FunctionId{0});
}

TEST(CrossRankView, IsEmptyWithoutBatches) {
  const CrossRankView view({}, {});
  EXPECT_THAT(view.ranks(), IsEmpty());
  EXPECT_THAT(view.functions(), IsEmpty());
  EXPECT_EQ(view.role_count(), 0u);
  EXPECT_EQ(view.FindRank(RankId{0}), nullptr);
  EXPECT_EQ(view.FindFunction(FunctionId{1}), nullptr);
}

TEST(CrossRankView, ListsRanksByNumberWhateverTheOrderOfBatches) {
  SyntheticJob job(5);
  std::swap(job.batches[0], job.batches[4]);
  std::swap(job.batches[1], job.batches[3]);
  const CrossRankView view(job.batches, job.summaries);
  std::vector<uint32_t> numbers;
  for (const RankView& rank : view.ranks()) numbers.push_back(rank.rank.value);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(view.job(), JobId{"synthetic"});
  EXPECT_EQ(view.window_index(), 7);
  EXPECT_EQ(view.world_size(), 5u);
  ASSERT_NE(view.FindRank(RankId{3}), nullptr);
  EXPECT_EQ(view.FindRank(RankId{3})->batch->rank, RankId{3});
  EXPECT_EQ(view.FindRank(RankId{5}), nullptr);
}

TEST(CrossRankView, HoldsAFunctionAsColumnsOfTheRanksThatRanIt) {
  SyntheticJob job(4);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.5, 0.9, 0.1);
  job.Run(2, FunctionClass::kPython, "pin_memory", 0.25);
  const CrossRankView view(job.batches, job.summaries);
  ASSERT_EQ(view.functions().size(), 2u);
  EXPECT_TRUE(std::is_sorted(
      view.functions().begin(), view.functions().end(),
      [](const FunctionColumn& a, const FunctionColumn& b) { return a.function < b.function; }));
  const FunctionColumn* gemm = view.FindFunction(IdOf(FunctionClass::kGpuCompute, "gemm"));
  ASSERT_NE(gemm, nullptr);
  EXPECT_THAT(gemm->rank, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(gemm->beta, ElementsAre(0.5f, 0.5f, 0.5f, 0.5f));
  EXPECT_EQ(gemm->sample->name, "gemm");
  const FunctionColumn* pin = view.FindFunction(IdOf(FunctionClass::kPython, "pin_memory"));
  ASSERT_NE(pin, nullptr);
  EXPECT_THAT(pin->rank, ElementsAre(2));
  EXPECT_THAT(pin->beta, ElementsAre(0.25f));
  EXPECT_EQ(pin->pattern[0],
            &job.batches[2].patterns[job.batches[2].patterns[0].name == "pin_memory" ? 0 : 1]);
}

TEST(CrossRankView, LeavesOutWhatRanksRunHiddenAndStillFindsIt) {
  SyntheticJob job(2);
  job.Run(0, FunctionClass::kPython, "build_mask", 0.25);
  job.Run(1, FunctionClass::kPython, "build_mask", 0);
  const int64_t window_ns = job.batches[1].window.duration_ns();
  job.batches[1].patterns.back().total_ns = window_ns / 4;
  const FunctionId function = IdOf(FunctionClass::kPython, "build_mask");
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_THAT(view.FindFunction(function)->rank, ElementsAre(0));
  const double steps = std::max(1.0, view.ranks()[1].step.steps);
  EXPECT_NEAR(RunsForNs(view.ranks()[1], function), static_cast<double>(window_ns) / 4 / steps, 1);
  EXPECT_EQ(RunsForNs(view.ranks()[1], IdOf(FunctionClass::kPython, "other")), 0);
}

TEST(TimesOf, IsFromWhereTheFirstRankBeginsToWhereTheLastOneEnds) {
  SyntheticJob job(3);
  for (int64_t rank = 0; rank < 3; ++rank) {
    job.batches[static_cast<size_t>(rank)].window.start_ns = 1'000 - rank;
    job.batches[static_cast<size_t>(rank)].window.end_ns = 2'000 + rank;
  }
  EXPECT_EQ(TimesOf(CrossRankView(job.batches, job.summaries)),
            std::pair(int64_t{998}, int64_t{2'002}));
  job.batches[2].silent = true;
  EXPECT_EQ(TimesOf(CrossRankView(job.batches, job.summaries)),
            std::pair(int64_t{999}, int64_t{2'001}));
  EXPECT_EQ(TimesOf(CrossRankView({}, {})), std::pair(int64_t{0}, int64_t{0}));
}

TEST(CrossRankView, ListsSilentRanksWithoutPatterns) {
  SyntheticJob job(4);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.5);
  job.batches[1].silent = true;
  const CrossRankView view(job.batches, job.summaries);
  EXPECT_EQ(view.ranks().size(), 4u);
  EXPECT_THAT(view.functions().at(0).rank, ElementsAre(0, 2, 3));
}

TEST(CrossRankView, KeepsWhatAHostileBatchSaysOutOfTheArithmetic) {
  SyntheticJob job(3);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.5, 0.9, 0.1);
  job.batches[0].patterns[0].beta = std::numeric_limits<double>::quiet_NaN();
  job.batches[1].patterns[0].mu = std::numeric_limits<double>::infinity();
  job.batches[2].patterns[0].sigma = -1;
  job.batches[2].patterns.push_back(job.batches[2].patterns[0]);  // the same function twice
  job.batches.push_back(job.batches[0]);                          // the same rank twice
  const CrossRankView view(job.batches, job.summaries);
  ASSERT_EQ(view.ranks().size(), 3u);
  const FunctionColumn& gemm = view.functions().at(0);
  EXPECT_THAT(gemm.rank, ElementsAre(0, 1, 2));
  EXPECT_THAT(gemm.beta, ElementsAre(0.0f, 0.5f, 0.5f));
}

}  // namespace
}  // namespace eroica
