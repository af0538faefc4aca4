#include "producers/python/thread_switches.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/python/thread_blocks.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using Kind = ThreadSwitch::Kind;

std::vector<ThreadSwitch> TakeAll(ThreadSwitches& switches) {
  std::vector<ThreadSwitch> all;
  while (const auto change = switches.Take(INT64_MAX)) all.push_back(*change);
  return all;
}

// Blocks the calling thread, by the kernel's clock of that time.
void Block(std::chrono::microseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, time, [] { return false; });
}

TEST(ThreadSwitches, SayForHowLongAThreadBlocked) {
  std::promise<int> started;
  std::promise<void> watched;
  std::thread thread([&] {
    started.set_value(gettid());
    watched.get_future().wait();
    Block(std::chrono::milliseconds(20));
  });
  ThreadSwitches switches(started.get_future().get(), 0);
  const bool is_open = switches.is_open();
  const int64_t begin_ns = eroica_now_ns();
  watched.set_value();
  thread.join();
  const int64_t end_ns = eroica_now_ns();
  if (!is_open) GTEST_SKIP() << "this kernel or container shows no context switches";
  ThreadBlocks blocks;
  blocks.Switch({.time_ns = 0, .kind = Kind::kRuns});
  blocks.Begin();
  const std::vector<ThreadSwitch> all = TakeAll(switches);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().kind, Kind::kLost) << "of the time before nothing is known";
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(all[i].time_ns, all[i - 1].time_ns);
    blocks.Switch(all[i]);
  }
  blocks.End(end_ns);
  int64_t longest_ns = 0;
  for (const ThreadBlock& block : blocks.blocks()) {
    longest_ns = std::max(longest_ns, block.length_ns());
    EXPECT_LE(block.end_ns, end_ns);
  }
  EXPECT_GE(longest_ns, 10 * kNsPerMs) << "of 20, less what it lost before it blocked";
  EXPECT_LE(longest_ns, end_ns - begin_ns);
}

TEST(ThreadSwitches, WhatIsLaterThanAskedForStays) {
  ThreadSwitches switches(gettid(), 0);
  if (!switches.is_open()) GTEST_SKIP() << "this kernel or container shows no context switches";
  Block(std::chrono::milliseconds(1));
  EXPECT_FALSE(switches.Take(0));
  EXPECT_GE(TakeAll(switches).size(), 3u);
}

TEST(ThreadSwitches, MoreThanTheRingHoldsAreLostAndSaidSo) {
  ThreadSwitches switches(gettid(), 0);
  if (!switches.is_open()) GTEST_SKIP() << "this kernel or container shows no context switches";
  TakeAll(switches);
  for (int i = 0; i < 2'000; ++i) Block(std::chrono::microseconds(1));
  std::vector<ThreadSwitch> after = TakeAll(switches);
  Block(std::chrono::microseconds(1));  // the kernel says it with the next one
  std::ranges::copy(TakeAll(switches), std::back_inserter(after));
  EXPECT_EQ(std::ranges::count(after, Kind::kLost, &ThreadSwitch::kind), 1);
  EXPECT_EQ(after.back().kind, Kind::kRuns);
}

// 1,800 blocks cost 3.6 ms, which is a four hundredth of 1.44 s.
TEST(ThreadSwitches, AThreadThatBlocksOftenIsWatchedInTurns) {
  ThreadSwitches switches(gettid(), 0);
  if (!switches.is_open()) GTEST_SKIP() << "this kernel or container shows no context switches";
  size_t taken = 0;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 100; ++k) Block(std::chrono::microseconds(1));
    taken += TakeAll(switches).size();
  }
  ASSERT_GE(taken, 3'600u);
  switches.KeepPace(kNsPerSecond - 1);
  EXPECT_TRUE(switches.is_open()) << "no second has passed";
  switches.KeepPace(kNsPerSecond);
  EXPECT_FALSE(switches.is_open());
  const std::vector<ThreadSwitch> last = TakeAll(switches);
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.back().kind, Kind::kLost);
  switches.KeepPace(kNsPerSecond + 1);
  EXPECT_FALSE(switches.is_open());
  switches.KeepPace(60 * kNsPerSecond);
  EXPECT_TRUE(switches.is_open());
  switches.KeepPace(61 * kNsPerSecond);
  EXPECT_TRUE(switches.is_open()) << "it has hardly blocked since";
}

TEST(ThreadSwitches, OfAThreadThatIsNotThereNothing) {
  std::promise<int> number;
  std::thread([&] { number.set_value(gettid()); }).join();
  ThreadSwitches switches(number.get_future().get(), 0);
  EXPECT_FALSE(switches.is_open());
  EXPECT_FALSE(switches.Take(INT64_MAX));
}

}  // namespace
}  // namespace eroica
