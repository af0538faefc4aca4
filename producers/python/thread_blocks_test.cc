#include "producers/python/thread_blocks.h"

#include <gtest/gtest.h>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using Kind = ThreadSwitch::Kind;

class ThreadBlocksTest : public ::testing::Test {
 protected:
  void Switch(int64_t time_ms, Kind kind) {
    blocks_.Switch({.time_ns = time_ms * kNsPerMs, .kind = kind});
  }
  void NextStretch(int64_t end_ms) {
    blocks_.End(end_ms * kNsPerMs);
    blocks_.Begin();
  }

  ThreadBlocks blocks_;
};

TEST_F(ThreadBlocksTest, FromTheFirstSwitchOnTheNextStretchIsWhole) {
  EXPECT_FALSE(blocks_.is_whole()) << "nobody has said that switches are seen";
  Switch(1, Kind::kLost);
  NextStretch(2);
  EXPECT_FALSE(blocks_.is_whole());
  Switch(3, Kind::kBlocked);
  Switch(5, Kind::kRuns);
  EXPECT_FALSE(blocks_.is_whole()) << "its begin was not seen";
  NextStretch(10);
  EXPECT_TRUE(blocks_.is_whole());
  EXPECT_TRUE(blocks_.blocks().empty());
}

TEST_F(ThreadBlocksTest, ABlockLastsUntilTheThreadRuns) {
  Switch(1, Kind::kRuns);
  NextStretch(2);
  Switch(3, Kind::kBlocked);
  Switch(33, Kind::kRuns);
  Switch(40, Kind::kPreempted);
  Switch(45, Kind::kRuns);
  blocks_.End(50 * kNsPerMs);
  ASSERT_EQ(blocks_.blocks().size(), 1u) << "what is preempted wants a processor";
  EXPECT_EQ(blocks_.blocks().front().begin_ns, 3 * kNsPerMs);
  EXPECT_EQ(blocks_.total_ns(), 30 * kNsPerMs);
  EXPECT_EQ(blocks_.preempted_ns(), 5 * kNsPerMs);
  blocks_.Begin();
  EXPECT_EQ(blocks_.preempted_ns(), 0);
}

TEST_F(ThreadBlocksTest, ABlockThatLastsIsCutWithTheStretch) {
  Switch(1, Kind::kRuns);
  NextStretch(2);
  Switch(3, Kind::kBlocked);
  blocks_.End(10 * kNsPerMs);
  EXPECT_EQ(blocks_.total_ns(), 7 * kNsPerMs);
  blocks_.Begin();
  Switch(14, Kind::kRuns);
  blocks_.End(20 * kNsPerMs);
  EXPECT_EQ(blocks_.total_ns(), 4 * kNsPerMs);
}

TEST_F(ThreadBlocksTest, WhereSwitchesWereLostNoStretchUntilTheNextOneIsWhole) {
  Switch(1, Kind::kRuns);
  NextStretch(2);
  Switch(3, Kind::kBlocked);
  Switch(3, Kind::kLost);
  EXPECT_FALSE(blocks_.is_whole());
  NextStretch(10);
  EXPECT_FALSE(blocks_.is_whole());
  Switch(12, Kind::kRuns);
  EXPECT_TRUE(blocks_.blocks().empty()) << "when it began is lost";
  NextStretch(20);
  EXPECT_TRUE(blocks_.is_whole());
  blocks_.Forget();
  EXPECT_FALSE(blocks_.is_whole());
}

TEST(SeenBlocks, AnswerWithTheMostAlike) {
  SeenBlocks seen;
  EXPECT_FALSE(seen.MostAlike(kNsPerMs));
  seen.Add(30 * kNsPerMs, 7);
  seen.Add(kNsPerMs, 8);
  EXPECT_EQ(seen.MostAlike(25 * kNsPerMs), 7u);
  EXPECT_EQ(seen.MostAlike(2 * kNsPerMs), 8u);
  EXPECT_EQ(seen.MostAlike(100 * kNsPerMs), 7u);
  EXPECT_FALSE(seen.MostAlike(10'000)) << "a hundredth as long";
  EXPECT_FALSE(seen.MostAlike(3'600 * kNsPerSecond));
  EXPECT_FALSE(seen.MostAlike(-1));
}

}  // namespace
}  // namespace eroica
