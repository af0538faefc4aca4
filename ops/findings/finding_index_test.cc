#include "ops/findings/finding_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

struct Said {
  std::string id = "a";
  Severity severity = Severity::kMajor;
  FindingState state = FindingState::kOpened;
  int64_t offset = 0;
  double cost = 0;
  std::string job = "night";
  std::string replay_id;
};

PublishedFinding Published(const Said& said) {
  PublishedFinding published{
      .finding = {}, .partition = 0, .offset = said.offset, .timestamp_ms = 1'000 + said.offset};
  published.finding.id = said.id;
  published.finding.job = JobId(said.job);
  published.finding.severity = said.severity;
  published.finding.state = said.state;
  published.finding.lost_gpu_seconds_per_hour = said.cost;
  published.finding.replay_id = said.replay_id;
  published.finding.culprits = {{.rank = 3}, {.host = "h"}};
  return published;
}

std::vector<std::string> Ids(const std::vector<FindingPtr>& findings) {
  std::vector<std::string> ids;
  for (const FindingPtr& finding : findings) ids.push_back(finding->id);
  return ids;
}

class FindingIndexTest : public ::testing::Test {
 protected:
  FindingIndex index_{1'000'000};
};

TEST_F(FindingIndexTest, KeepsTheNewestVersionAndWhenItWasFirstSeen) {
  index_.Add(Published({.offset = 0}));
  index_.Add(Published({.state = FindingState::kUpdated, .offset = 5}));
  const FindingPtr finding = index_.Find("a");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->state, FindingState::kUpdated);
  EXPECT_EQ(finding->first_seen_ms, 1'000);
  EXPECT_EQ(finding->last_seen_ms, 1'005);
  EXPECT_THAT(finding->ranks, ElementsAre(3));
  EXPECT_EQ(index_.size(), 1U);
  EXPECT_THAT(index_.position(), ElementsAre(Pair(0, 6)));
  EXPECT_EQ(index_.newest_ms(), 1'005);
}

TEST_F(FindingIndexTest, KeepsTheTimesThatAFindingTells) {
  PublishedFinding published = Published({.offset = 0});
  published.finding.first_seen_ns = 1'700'000'000'500'000'000;
  published.finding.last_seen_ns = 1'700'000'009'000'000'000;
  index_.Add(published);
  const FindingPtr finding = index_.Find("a");
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(finding->json_has_times);
  EXPECT_EQ(finding->first_seen_ms, 1'700'000'000'500);
  EXPECT_EQ(finding->last_seen_ms, 1'700'000'009'000);
}

TEST_F(FindingIndexTest, OneThatOpensAgainBeginsAnew) {
  index_.Add(Published({.offset = 0}));
  index_.Add(Published({.state = FindingState::kResolved, .offset = 1}));
  EXPECT_EQ(index_.Find("a")->first_seen_ms, 1'000);
  index_.Add(Published({.offset = 9}));
  EXPECT_EQ(index_.Find("a")->first_seen_ms, 1'009);
}

TEST_F(FindingIndexTest, OpenBeforeResolvedThenSevereThenCostly) {
  index_.Add(Published({.id = "resolved",
                        .severity = Severity::kCritical,
                        .state = FindingState::kResolved,
                        .offset = 0}));
  index_.Add(Published({.id = "minor", .severity = Severity::kMinor, .offset = 1, .cost = 99}));
  index_.Add(Published({.id = "cheap", .offset = 2, .cost = 1}));
  index_.Add(Published({.id = "dear", .offset = 3, .cost = 2}));
  EXPECT_THAT(Ids(index_.Select({})), ElementsAre("dear", "cheap", "minor", "resolved"));
  EXPECT_THAT(Ids(index_.Select({.state = StateFilter::kResolved})), ElementsAre("resolved"));
  EXPECT_THAT(Ids(index_.Select({.severity_min = Severity::kMajor})),
              ElementsAre("dear", "cheap", "resolved"));
}

TEST_F(FindingIndexTest, EveryFilterLeavesOutWhatItShould) {
  index_.Add(Published({.id = "live", .offset = 0}));
  index_.Add(Published({.id = "replayed", .offset = 1, .replay_id = "r1"}));
  index_.Add(Published({.id = "other", .offset = 2, .job = "day"}));
  EXPECT_THAT(Ids(index_.Select({.job = "day"})), ElementsAre("other"));
  EXPECT_THAT(Ids(index_.Select({.replay_id = "r1"})), ElementsAre("replayed"));
  EXPECT_THAT(Ids(index_.Select({.job = "night", .rank = 3})), ElementsAre("live"));
  EXPECT_THAT(index_.Select({.rank = 4}), IsEmpty());
  EXPECT_THAT(index_.Select({.kind = FindingKind::kHang}), IsEmpty());
  EXPECT_THAT(Ids(index_.Select({.since_ms = 1'002})), ElementsAre("other"));
  EXPECT_THAT(Ids(index_.Select({.until_ms = 1'002})), ElementsAre("live"));
}

TEST_F(FindingIndexTest, WhatPeopleDidStaysWithTheFinding) {
  const Annotation muted{.acknowledged = {},
                         .muted = Annotation::Mute{.action = {.by = "me"}, .until_ms = 50}};
  index_.Annotate("a", muted);  // before the finding has been read
  index_.Add(Published({.offset = 0}));
  EXPECT_EQ(index_.Find("a")->annotation, muted);
  index_.Add(Published({.state = FindingState::kUpdated, .offset = 1}));
  EXPECT_EQ(index_.Find("a")->annotation, muted);
  EXPECT_THAT(index_.Select({.muted = false, .now_ms = 49}), IsEmpty());
  EXPECT_THAT(index_.Select({.muted = false, .now_ms = 50}), SizeIs(1));
}

TEST_F(FindingIndexTest, SubscribersGetWhatChangedSinceTheyLooked) {
  index_.Add(Published({.id = "a", .offset = 0}));
  index_.Add(Published({.id = "b", .offset = 1}));
  const uint64_t seen = index_.version();
  EXPECT_THAT(index_.ChangedSince(seen), IsEmpty());
  index_.Add(Published({.id = "a", .state = FindingState::kUpdated, .offset = 2}));
  EXPECT_THAT(Ids(index_.ChangedSince(seen)), ElementsAre("a"));
  index_.Annotate("b", {.acknowledged = Annotation::Action{.by = "me"}, .muted = {}});
  EXPECT_THAT(Ids(index_.ChangedSince(seen)), ElementsAre("a", "b"));
}

TEST_F(FindingIndexTest, AListenerHearsOfEveryChangeAndMayLook) {
  std::vector<uint64_t> versions;
  index_.SetListener([&] { versions.push_back(index_.version()); });
  index_.Add(Published({.id = "a", .offset = 0}));
  index_.Annotate("a", {.acknowledged = Annotation::Action{.by = "me"}, .muted = {}});
  index_.SetCaughtUp();
  index_.SetCaughtUp();  // changes nothing
  index_.Annotate("unknown", {});
  EXPECT_THAT(versions, ElementsAre(1, 2, 3));
  index_.SetListener(nullptr);
  index_.Add(Published({.id = "b", .offset = 1}));
  EXPECT_THAT(versions, SizeIs(3));
}

TEST_F(FindingIndexTest, APositionSaysWhatASubscriberHasNotSeen) {
  index_.Add(Published({.id = "a", .offset = 0}));
  const std::string position = PositionText(index_.position());
  index_.Add(Published({.id = "b", .offset = 1}));
  const auto parsed = ParsePosition(position);
  ASSERT_TRUE(parsed);
  EXPECT_THAT(Ids(index_.ChangedSince(*parsed)), ElementsAre("b"));
  EXPECT_THAT(Ids(index_.ChangedSince(FindingPosition{{4, 2}})), ElementsAre("a", "b"));
  EXPECT_EQ(PositionText({{0, 7}, {3, 4}}), "0:7,3:4");
  EXPECT_FALSE(ParsePosition("0"));
  EXPECT_FALSE(ParsePosition("0:x"));
  EXPECT_FALSE(ParsePosition("-1:3"));
  EXPECT_THAT(*ParsePosition(""), IsEmpty());
}

TEST(FindingIndexBoundTest, TheResolvedLeaveFirstAndAreCounted) {
  FindingIndex index(10'000);
  index.Add(Published({.id = "open", .offset = 0}));
  for (int64_t offset = 1; offset < 40; ++offset) {
    index.Add(Published(
        {.id = std::to_string(offset), .state = FindingState::kResolved, .offset = offset}));
  }
  EXPECT_NE(index.Find("open"), nullptr);
  EXPECT_NE(index.Find("39"), nullptr);
  EXPECT_EQ(index.Find("1"), nullptr);
  EXPECT_EQ(index.evicted() + index.size(), 40U);
  EXPECT_LT(index.size(), 15U);
}

TEST(FindingIndexBoundTest, AnnotationsOfFindingsThatNeverComeAreBounded) {
  FindingIndex index(1'000'000);
  const Annotation muted{.acknowledged = {},
                         .muted = Annotation::Mute{.action = {.by = "me"}, .until_ms = 50}};
  const auto id = [](size_t number) { return std::to_string(100'000 + number); };
  for (size_t number = 0; number <= FindingIndex::kEarlyAnnotationsMax; ++number)
    index.Annotate(id(number), muted);
  index.Add(Published({.id = id(0), .offset = 0}));
  index.Add(Published({.id = id(FindingIndex::kEarlyAnnotationsMax), .offset = 1}));
  EXPECT_EQ(index.Find(id(0))->annotation, Annotation());
  EXPECT_EQ(index.Find(id(FindingIndex::kEarlyAnnotationsMax))->annotation, muted);
}

}  // namespace
}  // namespace eroica
