#include "stream_ops/runtime/node_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr NodeHealth::TimePoint kStart{};

StageProbe Counted(uint64_t received, std::map<DropReason, uint64_t> dead_letters) {
  StageProbe probe;
  probe.records_received = received;
  probe.dead_letters = std::move(dead_letters);
  return probe;
}

class NodeHealthTest : public ::testing::Test {
 protected:
  // What summarize has counted since the start; all dead letters are of one kind.
  bool Observe(int64_t second, uint64_t received, uint64_t dead_letters) {
    return health_.Observe(
        {{"align", Counted(1'000, {})},
         {"summarize", Counted(received, {{DropReason::kVerifierFailed, dead_letters}})}},
        kStart + seconds(second));
  }

  NodeHealth health_{{.dead_letter_share_max = 0.1, .dead_letters_min = 20, .period = seconds(60)},
                     kStart};
};

TEST_F(NodeHealthTest, IsHealthyBeforeItHasDoneAnything) {
  EXPECT_TRUE(health_.healthy());
  EXPECT_THAT(health_.reasons(), IsEmpty());
  EXPECT_EQ(health_.Summary(), "healthy");
  EXPECT_FALSE(health_.Observe({}, kStart));
}

// A broker that has lost track of one never ends it, and its records are no lag to their reader.
TEST_F(NodeHealthTest, ATransactionThatNobodyEndsMakesItUnhealthy) {
  StageProbe probe = Counted(100, {});
  probe.consumer.held_records = 7;
  probe.consumer.held_seconds = 29;
  EXPECT_FALSE(health_.Observe({{"summarize", probe}}, kStart + seconds(1)));
  probe.consumer.held_seconds = 30;
  EXPECT_TRUE(health_.Observe({{"summarize", probe}}, kStart + seconds(2)));
  EXPECT_THAT(health_.reasons(),
              ElementsAre(HasSubstr("transaction of 30 s holds 7 records of stage summarize")));
  probe.consumer.held_seconds = 0;
  EXPECT_TRUE(health_.Observe({{"summarize", probe}}, kStart + seconds(3)));
  EXPECT_TRUE(health_.healthy());
}

TEST_F(NodeHealthTest, AFloodMakesItUnhealthyAndSaysWhy) {
  EXPECT_TRUE(Observe(1, 100, 50));
  EXPECT_FALSE(health_.healthy());
  EXPECT_THAT(health_.reasons(),
              ElementsAre(AllOf(StartsWith("Stage summarize could not use 50 of the 100 records"),
                                HasSubstr("verifier_failed"), HasSubstr("eroica deadletter"))));
  EXPECT_THAT(health_.Summary(), StartsWith("unhealthy: Stage summarize"));
  EXPECT_FALSE(Observe(2, 110, 60)) << "it was unhealthy before";
}

TEST_F(NodeHealthTest, AFewDeadLettersAreNoFloodWhateverTheirShare) {
  EXPECT_FALSE(Observe(1, 19, 19));
  EXPECT_TRUE(health_.healthy());
}

TEST_F(NodeHealthTest, ManyDeadLettersAmongManyMoreRecordsAreNoFlood) {
  EXPECT_FALSE(Observe(1, 100'000, 10'000));
  EXPECT_TRUE(health_.healthy());
  EXPECT_TRUE(Observe(2, 100'000, 10'001));
}

TEST_F(NodeHealthTest, IsHealthyAgainWhenAPeriodHasPassedWithout) {
  EXPECT_TRUE(Observe(1, 100, 100));
  EXPECT_FALSE(Observe(30, 200, 100));
  EXPECT_FALSE(health_.healthy()) << "100 of 200 within the period";
  EXPECT_TRUE(Observe(62, 300, 100));
  EXPECT_TRUE(health_.healthy());
  EXPECT_EQ(health_.times_unhealthy(), 1u);
  EXPECT_EQ(health_.Summary(), "healthy, after it was unhealthy 1 time");
}

// Hours of good work before do not hide a flood of now, and neither does silence after it prolong
// it.
TEST_F(NodeHealthTest, OnlyTheLatestPeriodCounts) {
  for (int64_t second = 1; second <= 3'600; ++second)
    EXPECT_FALSE(Observe(second, static_cast<uint64_t>(second) * 1'000, 0));
  EXPECT_FALSE(Observe(3'601, 3'600'000, 100)) << "of 60,000";
  EXPECT_TRUE(Observe(3'640, 3'600'000, 9'000)) << "of 21,000";
  EXPECT_TRUE(Observe(3'800, 3'600'000, 9'000));
  EXPECT_TRUE(health_.healthy());
}

TEST_F(NodeHealthTest, EveryStageHasItsOwnReason) {
  health_.Observe({{"align", Counted(100, {{DropReason::kTooShort, 30}})},
                   {"diagnose", Counted(1'000'000, {{DropReason::kTooShort, 30}})},
                   {"summarize", Counted(100, {{DropReason::kColumnLength, 10},
                                               {DropReason::kEnumOutOfRange, 20}})}},
                  kStart + seconds(1));
  EXPECT_THAT(health_.reasons(),
              ElementsAre(AllOf(HasSubstr("align"), HasSubstr("too_short")),
                          AllOf(HasSubstr("summarize"), HasSubstr("30 of the 100"),
                                HasSubstr("mostly enum_out_of_range"))));
}

TEST_F(NodeHealthTest, WindowsThatWereClosedForWantOfMemoryMakeItUnhealthyForAPeriod) {
  StageProbe probe = Counted(100, {});
  EXPECT_FALSE(health_.Observe({{"align", probe}}, kStart + seconds(1)));
  probe.windows_forced = 3;
  probe.events_unused[DropReason::kLate] = 400;
  EXPECT_TRUE(health_.Observe({{"align", probe}}, kStart + seconds(2)));
  EXPECT_THAT(health_.reasons(),
              ElementsAre(AllOf(StartsWith("Stage align closed 3 windows"), HasSubstr("400 events"),
                                HasSubstr("runtime.memory_mib"))));
  EXPECT_FALSE(health_.Observe({{"align", probe}}, kStart + seconds(30)));
  EXPECT_TRUE(health_.Observe({{"align", probe}}, kStart + seconds(120)));
  EXPECT_TRUE(health_.healthy());
}

}  // namespace
}  // namespace eroica
