#include "diagnosis/recompilation/recompilation_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/explanation/root_cause.h"
#include "diagnosis/measurements/compilation.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RecompilationOperator, NamesTheRankThatCompilesWhileItsPeersWait) {
  TrainingView job(3, 32);
  job.RunOnAll("train.py(5): step", 20);
  job.RunInSteps(2, kCompiling, 4'500, 8, 10);
  job.Finish();
  const std::vector<Finding> found = ClaimsOf<RecompilationOperator>(job);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].subkind, kRecompilation);
  EXPECT_EQ(found[0].culprits[0].rank, 2);
  EXPECT_EQ(found[0].title,
            "Rank 2 compiles again (2 times, 9.00 s) in steps 0 to 31, its peers for 0.");
  EXPECT_THAT(found[0].victims, SizeIs(2));
  EXPECT_THAT(found[0].suggested_action, HasSubstr("TORCH_LOGS=recompiles"));
}

// The steps in which it compiles are also slow steps of the rank: one fault.
TEST(RecompilationOperator, IsTheOnlyFindingOfIt) {
  TrainingView job(3, 32);
  job.RunOnAll("train.py(5): step", 20);
  job.RunInSteps(2, kCompiling, 4'500, 8, 10);
  job.Finish();
  const CrossRankView view(job.batches(), job.summaries());
  const std::vector<Finding> findings = RootCause(DefaultOperators()).Diagnose(view);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, kRecompilation);
  EXPECT_NEAR(findings[0].lost_ns_per_step, 9e9 / 32, 1e6);
}

TEST(RecompilationOperator, IsSilentWhereAllCompileOrNobodyIsThereToCompareWith) {
  TrainingView all(3, 32);
  all.RunOnAll("train.py(5): step", 20);
  for (uint32_t rank = 0; rank < 3; ++rank) all.RunInSteps(rank, kCompiling, 4'500, 0, 1);
  EXPECT_THAT(ClaimsOf<RecompilationOperator>(all.Finish()), IsEmpty());
  TrainingView alone(1, 32);
  alone.RunOnAll("train.py(5): step", 20);
  alone.RunInSteps(0, kCompiling, 4'500, 8, 10);
  EXPECT_THAT(ClaimsOf<RecompilationOperator>(alone.Finish()), IsEmpty());
  TrainingView little(3, 32);
  little.RunOnAll("train.py(5): step", 20);
  little.RunInSteps(2, kCompiling, 20, 8, 9);
  EXPECT_THAT(ClaimsOf<RecompilationOperator>(little.Finish()), IsEmpty()) << "3 % of the window";
}

// On a machine with few processors the compiler mostly waits for one.
TEST(RecompilationOperator, TimeIsWhatPassed) {
  TrainingView job(3, 32);
  job.RunOnAll("train.py(5): step", 20);
  job.RunInSteps(2, kCompiling, 4'500, 8, 10);
  for (FunctionPattern& pattern : job.Finish().batches()[2].patterns) {
    if (pattern.name == kCompiling) pattern.critical_ns /= 100;
  }
  EXPECT_THAT(ClaimsOf<RecompilationOperator>(job), SizeIs(1));
}

TEST(Compilation, WhatCompiledCodeRunsIsNoCompiler) {
  EXPECT_TRUE(IsInCompiler("torch/_dynamo/convert_frame.py(1500): __call__"));
  EXPECT_TRUE(IsInCompiler("train.py(1): main > torch/_inductor/graph.py(9): run > a.py(2): f"));
  EXPECT_FALSE(IsInCompiler("torch/_dynamo/eval_frame.py(700): _fn"));
  EXPECT_FALSE(IsInCompiler("torch/_inductor/output_code.py(500): __call__"));
}

}  // namespace
}  // namespace eroica
