#include "tests/evaluation/baselines/eroica_printed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/synthetic_job.h"
#include "tests/evaluation/baselines/baseline_test_views.h"

namespace eroica {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(EroicaPrintedBaseline, NamesTheWorkerThatIsUnlikeTheOthers) {
  SyntheticJob job(64);
  for (uint32_t rank = 0; rank < 64; ++rank)
    job.Run(rank, FunctionClass::kGpuCompute, "gemm", 0.5, rank == 7 ? 0.3 : 0.9, 0.1);
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "gemm");
  EXPECT_EQ(findings[0].subkind, "different");
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(7));
}

TEST(EroicaPrintedBaseline, AFunctionOnAllWorkersIsUnexpectedByItsClass) {
  SyntheticJob job(16);
  job.RunOnAll(FunctionClass::kPython, "recv_into", 0.06);
  job.RunOnAll(FunctionClass::kCollective, "all_reduce", 0.45);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.9);
  job.RunOnAll(FunctionClass::kMemoryOp, "memcpy", 0.9);
  job.RunOnAll(FunctionClass::kCollective, "send", 0.29);
  job.RunOnAll(FunctionClass::kPython, "small", 0.009);
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].function, "all_reduce");  // the larger beta first
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_EQ(findings[1].function, "recv_into");
  EXPECT_EQ(findings[1].kind, FindingKind::kRegression);
  EXPECT_EQ(findings[1].subkind, "unexpected");
  EXPECT_THAT(findings[1].culprits, IsEmpty());
}

TEST(EroicaPrintedBaseline, AFunctionThatFewWorkersRunIsTheirs) {
  // Case study 2-P3: pin_memory on 3 workers of 3,400.
  SyntheticJob job(340);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.5, 0.9, 0.1);
  for (const uint32_t rank : {17u, 80u, 200u})
    job.Run(rank, FunctionClass::kMemoryOp, "pin_memory", 0.25);
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].function, "pin_memory");
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(17, 80, 200));
}

TEST(EroicaPrintedBaseline, SaysTheSameEachTime) {
  SyntheticJob job(400);
  for (uint32_t rank = 0; rank < 400; ++rank)
    job.Run(rank, FunctionClass::kGpuCompute, "gemm", 0.3 + 0.0005 * rank, 0.9, 0.001 * (rank % 9));
  EXPECT_EQ(Ask<EroicaPrintedBaseline>(job), Ask<EroicaPrintedBaseline>(job));
}

TEST(EroicaPrintedBaseline, SilentRanksAreNoWorkers) {
  SyntheticJob job(8);
  job.RunOnAll(FunctionClass::kPython, "recv_into", 0.06);
  job.batches[0].silent = true;
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kRegression);
}

// Known traps, as METHODS 1.10 lists them.

TEST(EroicaPrintedBaseline, TinyDimensionsAreBlownUp) {
  // Healthy: sigma scatters between 0.001 and 0.004 of the clock.
  SyntheticJob job(128);
  for (uint32_t rank = 0; rank < 128; ++rank) {
    job.Run(rank, FunctionClass::kGpuCompute, "gemm", 0.5, 0.9,
            rank % 16 == 5 ? 0.004 : 0.0015 + 0.00001 * (rank % 3));
  }
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
}

TEST(EroicaPrintedBaseline, FlagsAHealthyRole) {
  SyntheticJob job(64);
  for (uint32_t rank = 0; rank < 64; ++rank) {
    job.batches[rank].role = rank % 8 == 7 ? "last" : "inner";
    job.Run(rank, FunctionClass::kGpuCompute, "gemm", rank % 8 == 7 ? 0.25 : 0.5, 0.9, 0.1);
  }
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].culprits, SizeIs(8));
}

TEST(EroicaPrintedBaseline, DoesNotSeeALoneDropOfAThird) {
  SyntheticJob job(64);
  for (uint32_t rank = 0; rank < 64; ++rank)
    job.Run(rank, FunctionClass::kGpuCompute, "gemm", 0.5, rank == 7 ? 0.61 : 0.9, 0.1);
  EXPECT_THAT(Ask<EroicaPrintedBaseline>(job), IsEmpty());
}

TEST(EroicaPrintedBaseline, NamesTheLateRankForItsShortCollectiveAndTheGroupOfVictimsElsewhere) {
  // Of 64 ranks the eight of one group wait for rank 3: they are the unusual ones, and it is not.
  SyntheticJob job(64);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.5, 0.9, 0.1);
  for (uint32_t rank = 0; rank < 64; ++rank)
    job.Run(rank, FunctionClass::kCollective, "all_reduce", rank < 8 && rank != 3 ? 0.25 : 0.1, 0.5,
            0.1);
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(CulpritRanks(findings[0]), ElementsAre(0, 1, 2, 4, 5, 6, 7));
}

TEST(EroicaPrintedBaseline, EveryPythonFunctionAboveOnePercentIsReported) {
  SyntheticJob job(8);
  for (const char* name : {"forward", "backward", "optimizer", "log"})
    job.RunOnAll(FunctionClass::kPython, name, 0.02);
  const std::vector<Finding> findings = Ask<EroicaPrintedBaseline>(job);
  EXPECT_THAT(findings, SizeIs(4));
  EXPECT_THAT(findings, Each(::testing::Field(&Finding::kind, FindingKind::kRegression)));
}

}  // namespace
}  // namespace eroica
