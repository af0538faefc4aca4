#include "ops/alerts/alertmanager_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "ops/alerts/testing/receiver.h"
#include "ops/findings/testing/findings_topic.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

class AlertmanagerSinkTest : public ::testing::Test {
 protected:
  void Take(const std::string& id, FindingState state, Severity severity = Severity::kMajor) {
    index_.Add({.finding = FindingOf(id, state, severity), .partition = 0, .offset = offset_++});
  }
  void Start(
      milliseconds resend_every = std::chrono::hours(1),
      std::function<bool()> mutes_are_known = [] { return true; }) {
    sink_ = std::make_unique<AlertmanagerSink>(
        index_, AlertmanagerOptions{.url = *ParseHttpUrl(receiver_.url("/am/")),
                                    .connection = {.time = milliseconds(500)},
                                    .resend_every = resend_every,
                                    .pause_first = milliseconds(1),
                                    .pause_longest = milliseconds(2),
                                    .mutes_are_known = std::move(mutes_are_known)});
    sink_->Start();
  }
  bool AwaitPosts(size_t count) {
    return Eventually([&] { return receiver_.posts().size() >= count; });
  }
  nlohmann::json Alerts(size_t post) const {
    return nlohmann::json::parse(receiver_.posts().at(post).body);
  }

  Receiver receiver_;
  FindingIndex index_{1'000'000};
  int64_t offset_ = 0;
  std::unique_ptr<AlertmanagerSink> sink_;
};

TEST_F(AlertmanagerSinkTest, SaysWhatOpensAndWhatEnds) {
  Take("a", FindingState::kOpened);
  index_.SetCaughtUp();
  Start();
  ASSERT_TRUE(AwaitPosts(1));
  EXPECT_EQ(receiver_.posts()[0].target, "/am/api/v2/alerts");
  const nlohmann::json firing = Alerts(0);
  ASSERT_EQ(firing.size(), 1U);
  Take("a", FindingState::kUpdated, Severity::kCritical);
  ASSERT_TRUE(AwaitPosts(2));
  EXPECT_EQ(Alerts(1).size(), 2U) << "the one with the lower severity ends";
  Take("a", FindingState::kResolved, Severity::kCritical);
  ASSERT_TRUE(AwaitPosts(3));
  const nlohmann::json ended = Alerts(2);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0]["labels"]["severity"], "critical");
  EXPECT_LT(ended[0]["endsAt"], firing[0]["endsAt"]) << "it has ended; the other was to expire";
  EXPECT_EQ(sink_->probe().firing, 0U);
}

// Throws at ops/alerts/alertmanager_sink.cc: a push
TEST_F(AlertmanagerSinkTest, WhatALibraryThrowsIsAPushThatFailed) {
  std::atomic<int> asked = 0;
  Take("a", FindingState::kOpened);
  index_.SetCaughtUp();
  Start(std::chrono::hours(1), [&] {
    if (asked++ == 0) throw std::bad_alloc();
    return true;
  });
  ASSERT_TRUE(AwaitPosts(1));
  EXPECT_EQ(sink_->probe().failed, 1U);
}

TEST_F(AlertmanagerSinkTest, SaysItAgainWhileItIsOpen) {
  Take("a", FindingState::kOpened);
  index_.SetCaughtUp();
  Start(milliseconds(1));
  ASSERT_TRUE(AwaitPosts(3));
  EXPECT_EQ(Alerts(2)[0]["labels"], Alerts(0)[0]["labels"]);
}

TEST_F(AlertmanagerSinkTest, SaysNothingBeforeTheFindingsAreReadAndNothingOfMutedOnes) {
  Take("a", FindingState::kOpened);
  Take("muted", FindingState::kOpened, Severity::kCritical);
  index_.Annotate("muted", {.muted = Annotation::Mute{.until_ms = int64_t{1} << 50}});
  Start();
  EXPECT_EQ(receiver_.attempts(), 0U);
  index_.SetCaughtUp();
  ASSERT_TRUE(AwaitPosts(1));
  ASSERT_EQ(Alerts(0).size(), 1U);
  EXPECT_EQ(Alerts(0)[0]["labels"]["severity"], "major");
}

TEST_F(AlertmanagerSinkTest, SaysNothingBeforeItIsKnownWhatIsMuted) {
  std::atomic<int> asked = 0;
  std::atomic<bool> known = false;
  Take("muted", FindingState::kOpened, Severity::kCritical);
  Take("a", FindingState::kOpened);
  index_.SetCaughtUp();
  Start(std::chrono::hours(1), [&] {
    ++asked;
    return known.load();
  });
  ASSERT_TRUE(Eventually([&] { return asked >= 2; }));
  EXPECT_EQ(receiver_.attempts(), 0U);
  index_.Annotate("muted", {.muted = Annotation::Mute{.until_ms = int64_t{1} << 50}});
  known = true;
  ASSERT_TRUE(AwaitPosts(1));
  ASSERT_EQ(Alerts(0).size(), 1U);
  EXPECT_EQ(Alerts(0)[0]["labels"]["severity"], "major");
  sink_ = nullptr;
}

TEST_F(AlertmanagerSinkTest, AnAlertmanagerThatWasAwayHearsHowThingsAreNow) {
  for (const auto manner : {Receiver::Manner::kFails, Receiver::Manner::kSilent,
                            Receiver::Manner::kResets, Receiver::Manner::kRefuses}) {
    receiver_.Behave(manner);
    const size_t before = receiver_.posts().size();
    const uint64_t attempts = receiver_.attempts();
    Take("a", FindingState::kOpened);
    index_.SetCaughtUp();
    Start(milliseconds(1));
    ASSERT_TRUE(Eventually([&] { return receiver_.attempts() >= attempts + 2; }));
    ASSERT_TRUE(Eventually([&] { return !sink_->probe().answers; }));
    Take("b", FindingState::kOpened, Severity::kCritical);
    receiver_.Behave(Receiver::Manner::kAccepts);
    ASSERT_TRUE(AwaitPosts(before + 1));
    EXPECT_TRUE(Eventually([&] { return sink_->probe().answers; }));
    EXPECT_GE(sink_->probe().failed + sink_->probe().refused, 1U);
    sink_ = nullptr;
  }
}

}  // namespace
}  // namespace eroica
