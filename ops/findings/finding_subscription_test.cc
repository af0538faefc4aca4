#include "ops/findings/finding_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "ops/findings/testing/findings_topic.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using Past = FindingSubscription::Past;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Delivered {
  std::vector<std::string> versions;  // "id kind-of-past"
  std::vector<int32_t> begun;
};

// All that can be delivered now.
Delivered PollAll(FindingSubscription& subscription, int64_t records) {
  Delivered delivered;
  int64_t behind = -1;
  while (behind < records || delivered.begun.empty()) {
    FindingSubscription::Batch batch;
    EXPECT_TRUE(subscription.Poll(std::chrono::milliseconds(10), &batch).ok());
    for (const auto& version : batch.versions) {
      delivered.versions.push_back(version.finding.id + (version.past == Past::kNews ? " news"
                                                         : version.past == Past::kHandled
                                                             ? " handled"
                                                             : " earlier"));
    }
    delivered.begun.insert(delivered.begun.end(), batch.begun.begin(), batch.begun.end());
    behind = 0;
    for (const auto& [partition, position] : subscription.Positions()) behind += position;
    if (behind >= records && !delivered.versions.empty() &&
        delivered.versions[0].ends_with("handled"))
      break;
  }
  return delivered;
}

// Over a log with a group protocol's bookkeeping, and over one that only keeps positions.
class FindingSubscriptionTest : public ::testing::TestWithParam<bool> {
 protected:
  FindingSubscriptionTest() {
    if (GetParam()) {
      log_ = std::make_unique<MemoryLog>();
    } else {
      log_ = *RecordingLog::Open({.directory = folder_.path() + "/recording"});
    }
    topic_ = std::make_unique<FindingsTopic>(*log_);
  }
  std::unique_ptr<FindingSubscription> Subscribe() {
    return *FindingSubscription::Open(*log_, "eroica", "group");
  }
  void Publish(const std::string& id) { topic_->Publish(FindingOf(id, FindingState::kOpened)); }

  const ScratchDirectory folder_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<FindingsTopic> topic_;
};

INSTANTIATE_TEST_SUITE_P(MemoryAndRecording, FindingSubscriptionTest, ::testing::Bool());

TEST_P(FindingSubscriptionTest, WhatWasThereBeforeTheGroupIsNoNews) {
  Publish("a");
  Publish("b");
  const auto subscription = Subscribe();
  const Delivered delivered = PollAll(*subscription, 2);
  EXPECT_THAT(delivered.versions, ElementsAre("a earlier", "b earlier"));
  EXPECT_THAT(delivered.begun, ElementsAre(0));
  Publish("c");
  FindingSubscription::Batch batch;
  while (batch.versions.empty())
    ASSERT_TRUE(subscription->Poll(std::chrono::milliseconds(10), &batch).ok());
  EXPECT_EQ(batch.versions[0].past, Past::kNews);
}

// Else who handles the past when it is whole would handle it after the news about it.
TEST_P(FindingSubscriptionTest, NewsNeverComeInTheBatchThatEndsThePast) {
  constexpr int64_t kEarlier = 300;  // more than one poll takes
  for (int64_t i = 0; i < kEarlier; ++i) Publish("a");
  const auto subscription = Subscribe();
  FindingSubscription::Batch batch;
  while (batch.versions.empty())
    ASSERT_TRUE(subscription->Poll(std::chrono::milliseconds(10), &batch).ok());
  ASSERT_LT(batch.versions.size(), static_cast<size_t>(kEarlier));
  ASSERT_THAT(batch.begun, IsEmpty());
  Publish("b");
  while (batch.begun.empty()) {
    batch = {};
    ASSERT_TRUE(subscription->Poll(std::chrono::milliseconds(10), &batch).ok());
    for (const auto& version : batch.versions) EXPECT_EQ(version.past, Past::kEarlier);
  }
  EXPECT_EQ(subscription->Positions().at(0), kEarlier) << "what was not delivered is not handled";
  batch = {};
  ASSERT_TRUE(subscription->Poll(std::chrono::milliseconds(10), &batch).ok());
  ASSERT_THAT(batch.versions, SizeIs(1)) << "what was held back needs no poll";
  EXPECT_EQ(batch.versions[0].finding.id, "b");
  EXPECT_EQ(batch.versions[0].past, Past::kNews);
  EXPECT_EQ(subscription->Positions().at(0), kEarlier + 1);
}

TEST_P(FindingSubscriptionTest, AfterARestartWhatWasCommittedIsDeliveredAsHandled) {
  Publish("a");
  Publish("b");
  Publish("c");
  {
    const auto subscription = Subscribe();
    PollAll(*subscription, 3);
    ASSERT_TRUE(subscription->Commit({{0, 2}}).ok());
    ASSERT_TRUE(subscription->Commit({{0, 1}}).ok()) << "goes only up";
  }
  const auto subscription = Subscribe();
  EXPECT_THAT(PollAll(*subscription, 3).versions, ElementsAre("a handled", "b handled", "c news"));
}

TEST_P(FindingSubscriptionTest, FindingsOfReplaysAreLeftOutAndOtherRecordsCounted) {
  Finding replayed = FindingOf("r", FindingState::kOpened);
  replayed.replay_id = "incident";
  topic_->Publish(replayed);
  topic_->Append("no finding");
  const auto subscription = Subscribe();
  EXPECT_THAT(PollAll(*subscription, 2).versions, IsEmpty());
  EXPECT_EQ(subscription->malformed(), 1U);
}

}  // namespace
}  // namespace eroica
