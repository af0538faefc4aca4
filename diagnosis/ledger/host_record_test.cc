#include "diagnosis/ledger/host_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Finding Found(std::string job, std::vector<Culprit> culprits,
              FindingKind kind = FindingKind::kSlowRank) {
  Finding finding;
  finding.job = JobId{std::move(job)};
  finding.kind = kind;
  finding.culprits = std::move(culprits);
  return finding;
}

TEST(HostRecord, AHostOfTwoJobsRecurs) {
  std::vector<Finding> findings = {Found("monday", {{.rank = 3, .host = "a", .device = 3}}),
                                   Found("tuesday", {{.rank = 11, .host = "a", .device = 3}}),
                                   Found("tuesday", {{.rank = 0, .host = "b", .device = 0}})};
  findings[1].lost_gpu_seconds_per_hour = 40;
  findings[0].state = FindingState::kResolved;
  const std::vector<HostRecord> records = RecordsByHost(findings);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].host, "a");
  EXPECT_TRUE(records[0].recurring());
  EXPECT_THAT(records[0].devices, ElementsAre(3));
  EXPECT_EQ(records[0].findings(), 2u);
  EXPECT_EQ(records[0].open, 1u);
  EXPECT_EQ(records[0].worst_gpu_seconds_per_hour, 40);
  EXPECT_FALSE(records[1].recurring());
}

TEST(HostRecord, TwoFindingsOfOneJobDoNotMakeItRecur) {
  const std::vector<HostRecord> records = RecordsByHost(
      std::vector{Found("night", {{.rank = 0, .host = "a"}}),
                  Found("night", {{.rank = 0, .host = "a"}}, FindingKind::kCommunication)});
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_FALSE(records[0].recurring());
  EXPECT_THAT(records[0].kinds, SizeIs(2));
}

TEST(HostRecord, AHostCountsOnceAFinding) {
  const std::vector<HostRecord> records =
      RecordsByHost(std::vector{Found("night", {{.rank = 0, .host = "a", .device = 0},
                                                {.rank = 1, .host = "a", .device = 1},
                                                {.rank = 8, .host = "b"}})});
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].findings(), 1u);
  EXPECT_THAT(records[0].devices, ElementsAre(0, 1));
  EXPECT_THAT(records[1].devices, IsEmpty());
}

TEST(HostRecord, WhatIsNobodysMachineIsNoRecord) {
  EXPECT_THAT(
      RecordsByHost(std::vector{Found("a", {{.rank = 0, .host = "a"}}, FindingKind::kImbalance),
                                Found("a", {{.rank = 0, .host = "a"}}, FindingKind::kRegression),
                                Found("a", {{.rank = 0, .host = "a"}}, FindingKind::kMonitoringGap),
                                Found("a", {{.rank = 4}}), Found("a", {})}),
      IsEmpty());
}

}  // namespace
}  // namespace eroica
