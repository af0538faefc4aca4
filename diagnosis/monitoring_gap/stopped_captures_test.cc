#include "diagnosis/monitoring_gap/stopped_captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A window of four ranks; of ranks from `first` on the capture stood still for the share.
std::vector<Finding> FindWith(CaptureGap gap, double share, uint32_t first = 0) {
  TrainingView job(4, 8);
  job.RunOnAll("forward", 60).Finish();
  std::vector<PatternBatch> batches = job.batches();
  for (PatternBatch& batch : batches) {
    batch.window.start_ns = 1'000;
    batch.window.end_ns = 2'000;
    if (batch.rank.value < first) continue;
    batch.suspended = {{.gap = gap, .suspended_ns = static_cast<int64_t>(1'000 * share)}};
  }
  return FindStoppedCaptures(CrossRankView(batches, job.summaries()));
}

CaptureGap Mask(uint32_t mask) { return {CaptureKind::kCollectives, mask}; }

TEST(StoppedCaptures, AMaskOf0IsNoJobWithoutCollectives) {
  const std::vector<Finding> findings = FindWith(Mask(0), 1);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kMonitoringGap);
  EXPECT_EQ(findings[0].subkind, "collectives");
  EXPECT_EQ(findings[0].severity, Severity::kMinor);
  EXPECT_EQ(findings[0].title,
            "Collectives of ranks 0, 1, 2, 3 are not captured: NCCL's activation mask was set to 0 "
            "from outside.");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].evidence, SizeIs(4));
  EXPECT_EQ(findings[0].lost_ns_per_step, 0);
  EXPECT_EQ(findings[0].first_step, 0);
  EXPECT_EQ(findings[0].last_step, 7);
}

TEST(StoppedCaptures, AMaskSaysWhatIsMissing) {
  EXPECT_THAT(FindWith(Mask(1 << 1), 1, 3).at(0).title,
              StartsWith("Sends and receives, and times of collectives on the device of rank 3 "));
  EXPECT_THAT(FindWith(Mask(1 << 2), 1, 3).at(0).title,
              StartsWith("Collectives other than sends and receives of rank 3 "));
  EXPECT_THAT(FindWith(Mask(6), 1, 3).at(0).title,
              StartsWith("Times of collectives on the device of rank 3 "));
  EXPECT_THAT(FindWith(Mask(1), 1, 3).at(0).title, HasSubstr("was set to 1 from outside"));
}

TEST(StoppedCaptures, AnotherClientOfCuptiIsSaidAsWell) {
  const std::vector<Finding> findings = FindWith({CaptureKind::kDeviceWork, 0}, 0.6, 2);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "device_work");
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  EXPECT_THAT(findings[0].title, StartsWith("Kernels and copies of ranks 2, 3 are not captured"));
}

// torch.profiler for some steps, as its schedules have it.
TEST(StoppedCaptures, ALittleOfAWindowIsNone) {
  EXPECT_THAT(FindWith({CaptureKind::kDeviceWork, 0}, 0.3), IsEmpty());
  EXPECT_THAT(FindWith(Mask(0), 0.3), IsEmpty());
}

}  // namespace
}  // namespace eroica
