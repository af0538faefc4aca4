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

struct Told {
  std::vector<std::string> versions;  // "id kind-of-past"
  std::vector<int32_t> begun;
};

// All that there is to be told now.
Told TellAll(FindingSubscription& subscription, int64_t records) {
  Told told;
  int64_t behind = -1;
  while (behind < records || told.begun.empty()) {
    FindingSubscription::Batch batch;
    EXPECT_TRUE(subscription.Poll(std::chrono::milliseconds(10), &batch).ok());
    for (const auto& version : batch.versions) {
      told.versions.push_back(version.finding.id + (version.past == Past::kNews      ? " news"
                                                    : version.past == Past::kHandled ? " handled"
                                                                                     : " earlier"));
    }
    told.begun.insert(told.begun.end(), batch.begun.begin(), batch.begun.end());
    behind = 0;
    for (const auto& [partition, position] : subscription.Positions()) behind += position;
    if (behind >= records && !told.versions.empty() && told.versions[0].ends_with("handled")) break;
  }
  return told;
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
  const Told told = TellAll(*subscription, 2);
  EXPECT_THAT(told.versions, ElementsAre("a earlier", "b earlier"));
  EXPECT_THAT(told.begun, ElementsAre(0));
  Publish("c");
  FindingSubscription::Batch batch;
  while (batch.versions.empty())
    ASSERT_TRUE(subscription->Poll(std::chrono::milliseconds(10), &batch).ok());
  EXPECT_EQ(batch.versions[0].past, Past::kNews);
}

TEST_P(FindingSubscriptionTest, AfterARestartWhatWasCommittedIsToldAsHandled) {
  Publish("a");
  Publish("b");
  Publish("c");
  {
    const auto subscription = Subscribe();
    TellAll(*subscription, 3);
    ASSERT_TRUE(subscription->Commit({{0, 2}}).ok());
    ASSERT_TRUE(subscription->Commit({{0, 1}}).ok()) << "goes only up";
  }
  const auto subscription = Subscribe();
  EXPECT_THAT(TellAll(*subscription, 3).versions, ElementsAre("a handled", "b handled", "c news"));
}

TEST_P(FindingSubscriptionTest, FindingsOfReplaysAreLeftOutAndOtherRecordsCounted) {
  Finding replayed = FindingOf("r", FindingState::kOpened);
  replayed.replay_id = "incident";
  topic_->Publish(replayed);
  topic_->Append("no finding");
  const auto subscription = Subscribe();
  EXPECT_THAT(TellAll(*subscription, 2).versions, IsEmpty());
  EXPECT_EQ(subscription->malformed(), 1U);
}

}  // namespace
}  // namespace eroica
