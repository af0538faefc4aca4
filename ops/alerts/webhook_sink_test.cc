#include "ops/alerts/webhook_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>

#include "ops/alerts/testing/receiver.h"
#include "ops/findings/testing/findings_topic.h"
#include "schemas/finding_json.h"
#include "schemas/finding_version.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using Manner = Receiver::Manner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSecret = "a secret of this test";

class WebhookSinkTest : public ::testing::TestWithParam<bool> {
 protected:
  WebhookSinkTest() {
    if (GetParam()) {
      log_ = std::make_unique<MemoryLog>();
    } else {
      log_ = *RecordingLog::Open({.directory = folder_.path() + "/recording"});
    }
    topic_ = std::make_unique<FindingsTopic>(*log_);
  }

  WebhookOptions Options() const {
    WebhookOptions options{.url = *ParseHttpUrl(receiver_.url("/hook?key=1")),
                           .key = *WebhookKey::FromSecret(kSecret),
                           .connection = {.time = milliseconds(500)},
                           .topic_prefix = "eroica",
                           .group = "webhook"};
    options.pause_first = milliseconds(2);
    options.pause_longest = milliseconds(4);
    return options;
  }
  void Start(WebhookOptions options) {
    sink_ = std::make_unique<WebhookSink>(*log_, std::move(options));
    sink_->Start();
  }
  void Start() { Start(Options()); }
  // The group has begun: what is published from now on is news.
  void StartWithDelivered(const std::string& id) {
    Publish(id, FindingState::kOpened);
    Start();
    ASSERT_TRUE(AwaitDelivered(1));
  }
  void Publish(const std::string& id, FindingState state, Severity severity = Severity::kMajor) {
    topic_->Publish(FindingOf(id, state, severity));
  }
  bool AwaitDelivered(uint64_t count) {
    return Eventually([&] { return sink_->probe().delivered >= count; });
  }
  // "a opened" and so on, of all that was taken.
  std::vector<std::string> Taken() const {
    std::vector<std::string> taken;
    for (const ReceivedPost& post : receiver_.posts()) {
      const std::string subject = post.Header("ce-subject");
      taken.push_back(subject.substr(subject.rfind('/') + 1) + " " +
                      post.Header("ce-type").substr(std::string("eroica.finding.").size()) + " " +
                      post.Header("ce-severity"));
    }
    return taken;
  }

  const ScratchDirectory folder_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<FindingsTopic> topic_;
  Receiver receiver_;
  std::unique_ptr<WebhookSink> sink_;
};

INSTANTIATE_TEST_SUITE_P(MemoryAndRecording, WebhookSinkTest, ::testing::Bool());

TEST_P(WebhookSinkTest, PostsWhatOpensGetsGraverAndIsResolved) {
  StartWithDelivered("x");
  Publish("a", FindingState::kOpened, Severity::kMinor);
  Publish("a", FindingState::kUpdated, Severity::kMinor);
  Publish("a", FindingState::kUpdated, Severity::kCritical);
  Publish("i", FindingState::kOpened, Severity::kInfo);
  Publish("a", FindingState::kResolved, Severity::kCritical);
  ASSERT_TRUE(AwaitDelivered(4));
  EXPECT_THAT(Taken(), ElementsAre("x opened major", "a opened minor", "a updated critical",
                                   "a resolved critical"));
}

// Throws at ops/alerts/webhook_sink.cc: a delivery
TEST_P(WebhookSinkTest, WhatALibraryThrowsIsTriedAgain) {
  std::atomic<int> asked = 0;
  WebhookOptions options = Options();
  options.is_muted = [&](const std::string&) {
    if (asked++ == 0) throw std::bad_alloc();
    return false;
  };
  Publish("a", FindingState::kOpened);
  Start(std::move(options));
  ASSERT_TRUE(AwaitDelivered(1));
  EXPECT_THAT(Taken(), ElementsAre("a opened major"));
}

TEST_P(WebhookSinkTest, APostIsSignedAndSaysWhatItIs) {
  StartWithDelivered("x");
  const Finding finding = FindingOf("x", FindingState::kOpened);
  const ReceivedPost post = receiver_.posts().at(0);
  EXPECT_EQ(post.target, "/hook?key=1");
  EXPECT_EQ(post.body, ToJson(finding));
  EXPECT_EQ(post.Header("content-type"), "application/json");
  EXPECT_EQ(post.Header("ce-specversion"), "1.0");
  EXPECT_EQ(post.Header("webhook-id"), FindingVersionId(finding));
  EXPECT_EQ(post.Header("idempotency-key"), FindingVersionId(finding));
  EXPECT_EQ(post.Header("ce-id"), FindingVersionId(finding));
  EXPECT_EQ(
      post.Header("webhook-signature"),
      WebhookKey::FromSecret(kSecret)->Sign(
          FindingVersionId(finding), std::stoll(post.Header("webhook-timestamp")), post.body));
}

TEST_P(WebhookSinkTest, AReceiverThatIsAwayIsTriedAgainUntilItTakesEachOnce) {
  StartWithDelivered("x");
  uint64_t delivered = 1;
  for (const Manner manner : {Manner::kFails, Manner::kSilent, Manner::kResets}) {
    receiver_.Behave(manner);
    const uint64_t failed = sink_->probe().failed;
    const std::string id = "a" + std::to_string(delivered);
    Publish(id, FindingState::kOpened);
    ASSERT_TRUE(Eventually([&] { return sink_->probe().failed >= failed + 2; }));
    EXPECT_FALSE(sink_->probe().answers);
    receiver_.Behave(Manner::kAccepts);
    ASSERT_TRUE(AwaitDelivered(++delivered));
    EXPECT_TRUE(sink_->probe().answers);
    EXPECT_EQ(Taken().back(), id + " opened major");
  }
  EXPECT_EQ(receiver_.posts().size(), delivered);
}

TEST_P(WebhookSinkTest, WhatIsRefusedIsDroppedCountedAndHoldsUpNothing) {
  StartWithDelivered("x");
  receiver_.Behave(Manner::kRefuses);
  Publish("a", FindingState::kOpened);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().refused == 1; }));
  receiver_.Behave(Manner::kAccepts);
  Publish("b", FindingState::kOpened);
  ASSERT_TRUE(AwaitDelivered(2));
  EXPECT_THAT(Taken(), ElementsAre("x opened major", "b opened major"));
}

TEST_P(WebhookSinkTest, AfterARestartNothingIsSentTwiceAndNothingIsLost) {
  StartWithDelivered("a");
  sink_ = nullptr;
  Publish("a", FindingState::kUpdated);
  Publish("b", FindingState::kOpened);
  Publish("a", FindingState::kResolved);
  Start();
  ASSERT_TRUE(AwaitDelivered(2));
  EXPECT_THAT(Taken(), ElementsAre("a opened major", "b opened major", "a resolved major"));
}

TEST_P(WebhookSinkTest, WhatWasNotTakenBeforeARestartComesAfterIt) {
  StartWithDelivered("x");
  receiver_.Behave(Manner::kFails);
  Publish("a", FindingState::kOpened);
  Publish("b", FindingState::kOpened);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().failed >= 1; }));
  sink_ = nullptr;
  receiver_.Behave(Manner::kAccepts);
  Start();
  ASSERT_TRUE(AwaitDelivered(2));
  EXPECT_THAT(Taken(), ElementsAre("x opened major", "a opened major", "b opened major"));
}

TEST_P(WebhookSinkTest, AtTheVeryFirstStartOnlyWhatIsOpenIsSent) {
  Publish("a", FindingState::kOpened);
  Publish("b", FindingState::kOpened);
  Publish("b", FindingState::kResolved);
  Start();
  ASSERT_TRUE(AwaitDelivered(1));
  Publish("c", FindingState::kOpened);
  ASSERT_TRUE(AwaitDelivered(2));
  EXPECT_THAT(Taken(), ElementsAre("a opened major", "c opened major"));
}

TEST_P(WebhookSinkTest, BeyondTheQueueTheOldestAreDroppedAndCounted) {
  receiver_.Behave(Manner::kFails);
  WebhookOptions options = Options();
  options.messages_max = 2;
  Start(options);
  for (const char* id : {"a", "b", "c", "d", "e"}) Publish(id, FindingState::kOpened);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().no_room == 3; }));
  receiver_.Behave(Manner::kAccepts);
  ASSERT_TRUE(AwaitDelivered(2));
  EXPECT_THAT(Taken(), ::testing::UnorderedElementsAre("d opened major", "e opened major"));
  EXPECT_THAT(ProbeText(sink_->probe()), HasSubstr("no_room=3"));
}

TEST_P(WebhookSinkTest, WhatWaitsForTooLongIsDroppedAndCounted) {
  receiver_.Behave(Manner::kFails);
  WebhookOptions options = Options();
  options.give_up_after = milliseconds(10);
  Start(options);
  Publish("a", FindingState::kOpened);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().too_old == 1; }));
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_P(WebhookSinkTest, WhatSomebodyHasMutedIsNotSentBeforeItsMuteEnds) {
  WebhookOptions options = Options();
  options.is_muted = [](const std::string& id) { return id == "m"; };
  Publish("x", FindingState::kOpened);
  Start(options);
  ASSERT_TRUE(AwaitDelivered(1));
  Publish("m", FindingState::kOpened);
  Publish("a", FindingState::kOpened);
  Publish("m", FindingState::kResolved);
  ASSERT_TRUE(AwaitDelivered(3));
  EXPECT_THAT(Taken(), ElementsAre("x opened major", "a opened major", "m resolved major"));
  EXPECT_EQ(sink_->probe().muted, 1U);
}

TEST_P(WebhookSinkTest, WhatIsStillOpenWhenItsMuteEndsIsSentThen) {
  std::atomic<bool> muted = true;
  WebhookOptions options = Options();
  options.is_muted = [&](const std::string& id) { return muted && id.starts_with("m"); };
  Publish("m1", FindingState::kOpened);  // before the group has begun
  Publish("x", FindingState::kOpened);
  Start(options);
  ASSERT_TRUE(AwaitDelivered(1));
  Publish("m2", FindingState::kOpened, Severity::kMinor);
  Publish("m2", FindingState::kUpdated, Severity::kCritical);
  Publish("m3", FindingState::kOpened);
  Publish("m3", FindingState::kResolved);
  ASSERT_TRUE(AwaitDelivered(2));
  muted = false;
  ASSERT_TRUE(AwaitDelivered(5));
  EXPECT_THAT(Taken(), ElementsAre("x opened major", "m3 resolved major", "m1 opened major",
                                   "m2 opened minor", "m2 updated critical"));
  sink_ = nullptr;
}

TEST_P(WebhookSinkTest, AMuteIsOverAfterARestartToo) {
  std::atomic<bool> muted = true;
  WebhookOptions options = Options();
  options.is_muted = [&](const std::string& id) { return muted && id == "m"; };
  Publish("x", FindingState::kOpened);
  Start(options);
  ASSERT_TRUE(AwaitDelivered(1));
  Publish("m", FindingState::kOpened);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().muted == 1; }));
  sink_ = nullptr;
  Start(options);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().muted == 1; }));
  EXPECT_EQ(sink_->probe().delivered, 0U);
  muted = false;
  ASSERT_TRUE(AwaitDelivered(1));
  EXPECT_THAT(Taken(), ElementsAre("x opened major", "m opened major"));
  sink_ = nullptr;
}

TEST_P(WebhookSinkTest, NothingIsSentBeforeItIsKnownWhatIsMuted) {
  std::atomic<int> asked = 0;
  std::atomic<bool> known = false;
  WebhookOptions options = Options();
  options.is_muted = [&](const std::string& id) { return known && id == "m"; };
  options.mutes_are_known = [&] {
    ++asked;
    return known.load();
  };
  Publish("m", FindingState::kOpened);
  Publish("a", FindingState::kOpened);
  Start(options);
  ASSERT_TRUE(Eventually([&] { return asked >= 3; }));
  EXPECT_EQ(receiver_.attempts(), 0U);
  known = true;
  ASSERT_TRUE(AwaitDelivered(1));
  EXPECT_THAT(Taken(), ElementsAre("a opened major"));
  sink_ = nullptr;
}

TEST_P(WebhookSinkTest, ADeadReceiverDoesNotHoldUpTheEnd) {
  Publish("a", FindingState::kOpened);
  WebhookOptions options = Options();
  options.url = *ParseHttpUrl("http://127.0.0.1:1/");
  options.pause_first = options.pause_longest = std::chrono::hours(1);
  Start(options);
  ASSERT_TRUE(Eventually([&] { return sink_->probe().failed == 1; }));
  sink_ = nullptr;
}

}  // namespace
}  // namespace eroica
