#include "ops/cli/node_replays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <new>
#include <thread>
#include <utility>

#include "ops/cli/replay_order_file.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class NodeReplaysTest : public ::testing::Test {
 protected:
  NodeReplaysTest() { config_.node.recording = "tests/golden/live/compute"; }
  std::string folder() const { return scratch_.path() + "/state-replays"; }
  ReplayStatus Ask(NodeReplays& replays, ReplayOrder order) {
    const absl::StatusOr<ReplayStatus> replay = replays.Ask(std::move(order), "oncall");
    EXPECT_TRUE(replay.ok()) << replay.status();
    return replay.value_or(ReplayStatus());
  }
  // As it is once it waits and runs no longer.
  ReplayStatus AwaitEnd(const NodeReplays& replays, const std::string& id) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < deadline) {
      const std::optional<ReplayStatus> replay = replays.Find(id);
      if (replay && !IsLive(replay->state)) return *replay;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "the replay does not end";
    return {};
  }

  const ScratchDirectory scratch_;
  NodeConfig config_;
};

TEST_F(NodeReplaysTest, FindsWhatIsInTheLogAndKeepsItOverARestart) {
  std::string id;
  {
    NodeReplays replays(config_, folder());
    id = Ask(replays, {.job = {}, .from_ms = {}, .to_ms = {}, .options = {}}).id;
    const ReplayStatus replay = AwaitEnd(replays, id);
    EXPECT_EQ(replay.state, ReplayState::kFinished) << replay.error;
    EXPECT_GT(replay.total, 0);
    EXPECT_EQ(replay.done, replay.total);
    ASSERT_THAT(*replay.findings, SizeIs(1));
    EXPECT_EQ(replay.findings->at(0).replay_id, id);
    EXPECT_EQ(replay.verdict, "findings");
    EXPECT_EQ(Ask(replays, replay.order).state, ReplayState::kFinished) << "the same is not redone";
  }
  NodeReplays again(config_, folder());
  ASSERT_THAT(again.List(), SizeIs(1));
  const ReplayStatus kept = again.List()[0];
  EXPECT_EQ(kept.id, id);
  EXPECT_EQ(kept.by, "oncall");
  EXPECT_EQ(kept.state, ReplayState::kFinished);
  EXPECT_EQ(kept.verdict, "findings");
  ASSERT_THAT(*kept.findings, SizeIs(1));
}

// As `eroica replay` of the same slice: no finding is no clean bill of health where a part of the
// job was not recorded.
TEST_F(NodeReplaysTest, SaysWhatTheRecordingLeavesOpenAndKeepsItOverARestart) {
  const ReplayOrder order{.job = "no-such-job", .from_ms = 0, .to_ms = 1'000'000, .options = {}};
  std::vector<std::string> left_open;
  {
    NodeReplays replays(config_, folder());
    const ReplayStatus ended = AwaitEnd(replays, Ask(replays, order).id);
    EXPECT_EQ(ended.verdict, "cannot tell");
    EXPECT_THAT(ended.nothing_because, HasSubstr("no-such-job"));
    left_open = ended.left_open;
  }
  const NodeReplays again(config_, folder());
  ASSERT_THAT(again.List(), SizeIs(1));
  EXPECT_EQ(again.List()[0].verdict, "cannot tell");
  EXPECT_THAT(again.List()[0].nothing_because, HasSubstr("no-such-job"));
  EXPECT_EQ(again.List()[0].left_open, left_open);
}

// Throws at ops/cli/node_replays.cc: a replay
TEST_F(NodeReplaysTest, WhatALibraryThrowsIsTheReplaysErrorAndTheNextOneRuns) {
  int runs = 0;
  NodeReplays replays(config_, folder(), [&](const ReplayStatus&) {
    if (++runs == 1) throw std::bad_alloc();
  });
  const ReplayOrder order{.job = "no-such-job", .from_ms = 0, .to_ms = 1'000'000, .options = {}};
  const ReplayStatus failed = AwaitEnd(replays, Ask(replays, order).id);
  EXPECT_EQ(failed.state, ReplayState::kFailed);
  EXPECT_THAT(failed.error, HasSubstr("std::bad_alloc"));
  const ReplayStatus ended = AwaitEnd(replays, Ask(replays, order).id);
  EXPECT_EQ(ended.state, ReplayState::kFinished) << ended.error;
}

TEST_F(NodeReplaysTest, AnOtherConfigurationIsAnotherReplay) {
  NodeReplays replays(config_, folder());
  const ReplayOrder order{.job = "no-such-job", .from_ms = 0, .to_ms = 1'000'000, .options = {}};
  ReplayOrder other = order;
  other.options = {"summarize.fold_below=0.25"};
  const std::string first = Ask(replays, order).id;
  const std::string second = Ask(replays, other).id;
  EXPECT_NE(first, second);
  const ReplayStatus ended = AwaitEnd(replays, second);
  EXPECT_EQ(ended.state, ReplayState::kFinished) << ended.error;
  EXPECT_EQ(ended.findings_total, 0U);
}

TEST_F(NodeReplaysTest, WhatReachesBeyondTheDiagnosisCannotBeSet) {
  NodeReplays replays(config_, folder());
  for (const std::string option :
       {"kafka.bootstrap=elsewhere:9092", "state.folder=/", "rest.listen=0.0.0.0:1",
        "summarize.memory_mib=1", "node.topic_prefix=x", "summarize.fold_blow=1", "summarize",
        ""}) {
    const auto refused =
        replays.Ask({.job = {}, .from_ms = {}, .to_ms = {}, .options = {option}}, "oncall");
    EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << option;
  }
  config_.rest.replay_memory_mib = 0;
  NodeReplays none(config_, folder());
  EXPECT_THAT(std::string(none.Ask({}, "oncall").status().message()),
              HasSubstr("rest.replay_memory_mib"));
}

TEST_F(NodeReplaysTest, OneThatCannotBeReadFailsWithItsReason) {
  config_.node.recording = scratch_.path() + "/nothing";
  NodeReplays replays(config_, folder());
  const ReplayStatus replay = AwaitEnd(replays, Ask(replays, {}).id);
  EXPECT_EQ(replay.state, ReplayState::kFailed);
  EXPECT_THAT(replay.error, HasSubstr("nothing"));
}

TEST_F(NodeReplaysTest, OnlyTheNewestAreKeptAndWhatANodeLeftUnfinishedIsInterrupted) {
  for (size_t i = 0; i < NodeReplays::kKeptMax + 3; ++i) {
    ReplayStatus replay;
    replay.id = std::to_string(i);
    replay.folder = folder() + "/" + replay.id;
    replay.asked_ms = static_cast<int64_t>(i);
    replay.state = ReplayState::kRunning;
    std::filesystem::create_directories(replay.folder);
    ASSERT_TRUE(WriteReplayOrder(replay).ok());
  }
  std::filesystem::create_directories(folder() + "/of-somebody-else");
  const NodeReplays replays(config_, folder());
  ASSERT_THAT(replays.List(), SizeIs(NodeReplays::kKeptMax));
  EXPECT_EQ(replays.List()[0].asked_ms, 18) << "newest first";
  EXPECT_EQ(replays.List()[0].state, ReplayState::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(folder() + "/2"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/3"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/of-somebody-else"));
}

TEST_F(NodeReplaysTest, WhatWaitsIsBoundedAndCanBeCancelled) {
  NodeReplays replays(config_, folder());
  std::optional<absl::Status> refused;
  std::vector<std::string> ids;
  for (int64_t to = 1; !refused && to < 1'000; ++to) {
    const auto replay = replays.Ask({.job = {}, .from_ms = {}, .to_ms = to, .options = {}}, "a");
    if (replay.ok()) ids.push_back(replay->id);
    if (!replay.ok()) refused = replay.status();
  }
  ASSERT_TRUE(refused.has_value()) << "the worker is faster than who asks";
  EXPECT_TRUE(absl::IsResourceExhausted(*refused));
  ASSERT_TRUE(replays.Cancel(ids.back()).ok());
  EXPECT_EQ(replays.Find(ids.back())->state, ReplayState::kCancelled);
  EXPECT_TRUE(absl::IsFailedPrecondition(replays.Cancel(ids.back())));
  EXPECT_TRUE(absl::IsNotFound(replays.Cancel("none")));
}

}  // namespace
}  // namespace eroica
