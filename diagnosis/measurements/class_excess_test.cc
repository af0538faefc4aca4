#include "diagnosis/measurements/class_excess.h"

#include <gtest/gtest.h>

#include <string>

#include "diagnosis/measurements/synthetic_job.h"

namespace eroica {
namespace {

constexpr FunctionClass kPython = FunctionClass::kPython;
constexpr int64_t kStepNs = kSyntheticWindowNs / 10;

int64_t ExcessOf(const SyntheticJob& job, RankIndex rank, FunctionClass function_class) {
  const CrossRankView view(job.batches, job.summaries);
  return ClassExcessOverPeers(view, rank)[static_cast<size_t>(function_class)];
}

TEST(ClassExcess, AddsUpSmallFunctions) {
  SyntheticJob job(5);
  for (int i = 0; i < 20; ++i)
    job.RunOnAll(FunctionClass::kGpuCompute, "kernel" + std::to_string(i), 0.02);
  for (int i = 0; i < 20; ++i)
    job.Run(3, FunctionClass::kGpuCompute, "kernel" + std::to_string(i), 0.002);
  job.batches[3].folded_critical_ns[0] = 10 * kStepNs / 100;
  EXPECT_NEAR(static_cast<double>(ExcessOf(job, 3, FunctionClass::kGpuCompute)), 0.05 * kStepNs,
              10);
  EXPECT_EQ(ExcessOf(job, 0, FunctionClass::kGpuCompute), 0);
}

TEST(ClassExcess, ComparesWithinTheRole) {
  SyntheticJob job(4);
  job.RunOnAll(kPython, "forward", 0.2);
  for (const uint32_t rank : {2u, 3u}) job.Run(rank, kPython, "head", 0.3);
  for (uint32_t rank = 0; rank < 4; ++rank) job.batches[rank].role = rank < 2 ? "first" : "last";
  EXPECT_EQ(ExcessOf(job, 2, kPython), 0);
}

TEST(ClassExcess, WaitingIsNoExcess) {
  SyntheticJob job(4);
  job.RunOnAll(kPython, "forward", 0.2);
  job.Run(1, kPython, "wait", 0.3).wait = WaitKind::kPeer;
  EXPECT_EQ(ExcessOf(job, 1, kPython), 0);
}

TEST(ClassExcess, SilentRanksAreNobodysPeers) {
  SyntheticJob job(4);
  job.RunOnAll(kPython, "forward", 0.2);
  job.Run(0, kPython, "forward", 0.1);
  for (uint32_t rank = 1; rank < 4; ++rank) job.batches[rank].silent = true;
  EXPECT_EQ(ExcessOf(job, 0, kPython), 0);
  EXPECT_EQ(ExcessOf(job, 2, kPython), 0);
  EXPECT_EQ(ExcessOf(job, 99, kPython), 0);
}

}  // namespace
}  // namespace eroica
