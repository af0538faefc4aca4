#include "ops/launch/end_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ops/launch/testing/rank_process.h"
#include "producers/core/place_note.h"
#include "schemas/codec.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

constexpr int kLauncherFailed = 1 << 8;

TEST(StandingOf, TheLastNoteWithTheEnd) {
  RankStanding place;
  place.job = JobId{"job"};
  place.rank = RankId{2};
  place.world_size = 4;
  place.host = "node-7";
  place.pid = 4711;
  place.time_ns = 1'000;
  place.last_progress_ns = 900;
  place.step = 137;
  const EndedRank ended{.process = {.rank = 2, .pid = 4711, .seen_ns = 5},
                        .time_ns = 2'000,
                        .end = {.signal = SIGKILL},
                        .place = place};
  RankStanding wanted = place;
  wanted.time_ns = 2'000;
  wanted.end = ended.end;
  EXPECT_EQ(StandingOf(ended, JobId{"job"}), wanted);
}

TEST(StandingOf, WithoutANoteWhatIsKnown) {
  const EndedRank ended{
      .process = {.rank = 2, .pid = 4711}, .time_ns = 2'000, .end = {.exit_code = 1}, .place = {}};
  const RankStanding standing = StandingOf(ended, JobId{"job"});
  EXPECT_EQ(standing.rank, RankId{2});
  EXPECT_EQ(standing.world_size, 3u);
  EXPECT_EQ(standing.pid, 4711u);
  EXPECT_FALSE(standing.host.empty());
  EXPECT_EQ(standing.step, -1);
  EXPECT_EQ(standing.stalled_ns(), 0);
  Bytes payload;
  EXPECT_EQ(Encoder().TryEncode(standing, &payload), DropReason::kNone);
}

class EndWatchTest : public ::testing::Test {
 protected:
  EndWatchTest() {
    EXPECT_TRUE(
        log_.admin().CreateTopic({TopicName(kDefaultTopicPrefix, Topic::kEvents), 5, {}, 1}).ok());
    Watch(kDefaultTopicPrefix);
  }
  void Watch(std::string_view topic_prefix) {
    watch_ =
        std::make_unique<EndWatch>(log_, EndWatchOptions{.exchange_folder = scratch_.path(),
                                                         .topic_prefix = std::string(topic_prefix),
                                                         .job = JobId{"job"},
                                                         .partition = 4});
  }
  void AwaitSeen(uint64_t processes) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (watch_->processes_seen() < processes && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
  }
  std::vector<RankStanding> Sent() {
    const auto consumer = log_.NewConsumer({});
    EXPECT_TRUE(consumer.ok());
    EXPECT_TRUE(
        (*consumer)->Subscribe({TopicName(kDefaultTopicPrefix, Topic::kEvents)}, nullptr).ok());
    std::vector<RankStanding> standings;
    std::vector<ConsumerRecord> records;
    EXPECT_TRUE((*consumer)->Poll(std::chrono::milliseconds(100), 100, &records).ok());
    for (const ConsumerRecord& record : records) {
      EXPECT_EQ(record.partition, 4);
      RankStanding standing;
      EXPECT_EQ(Decoder().Decode(record.payload(), &standing), DropReason::kNone);
      standings.push_back(standing);
    }
    return standings;
  }

  const ScratchDirectory scratch_;
  MemoryLog log_;
  std::unique_ptr<EndWatch> watch_;
};

TEST_F(EndWatchTest, TheFirstEndIsSentWhenTheLauncherHasFailed) {
  TestingProcess first(scratch_.path(), 1, "while True: signal.pause()\n");
  TestingProcess other(scratch_.path(), 0, "while True: signal.pause()\n");
  AwaitSeen(2);
  first.Signal(SIGKILL);
  first.Wait();
  other.Signal(SIGTERM);
  other.Wait();
  EXPECT_EQ(watch_->Finish({.wait_status = kLauncherFailed}), 1u);
  EXPECT_TRUE(watch_->status().ok()) << watch_->status();
  const std::vector<RankStanding> sent = Sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].rank, RankId{1});
  ASSERT_TRUE(sent[0].end);
  EXPECT_TRUE(sent[0].end->signal == SIGKILL || !sent[0].end->is_known());
}

TEST_F(EndWatchTest, NothingIsSentOfAJobThatEndsWell) {
  TestingProcess rank(scratch_.path(), 0, "while True: signal.pause()\n");
  AwaitSeen(1);
  rank.Signal(SIGKILL);
  rank.Wait();
  EXPECT_EQ(watch_->Finish({.wait_status = 0}), 0u);
  EXPECT_TRUE(Sent().empty());
}

TEST_F(EndWatchTest, WhatCannotBeSentIsSaid) {
  Watch("nowhere");
  TestingProcess rank(scratch_.path(), 0, "while True: signal.pause()\n");
  AwaitSeen(1);
  rank.Signal(SIGKILL);
  rank.Wait();
  EXPECT_EQ(watch_->Finish({.wait_status = kLauncherFailed}), 0u);
  EXPECT_FALSE(watch_->status().ok());
}

}  // namespace
}  // namespace eroica
