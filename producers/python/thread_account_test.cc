#include "producers/python/thread_account.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "producers/python/python_thread.h"

namespace eroica {
namespace {

TEST(ThreadAccount, IsOfTheThreadThatIsAskedFor) {
  const ThreadAccount own(gettid());
  const int64_t before_ns = own.CpuNs();
  volatile int64_t sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
  std::promise<void> end;
  std::promise<int> started;
  std::thread idle([&] {
    started.set_value(gettid());
    end.get_future().wait();
  });
  const ThreadAccount others(started.get_future().get());
  EXPECT_GT(own.CpuNs() - before_ns, 4 * others.CpuNs());
  EXPECT_NE(others.State(), ThreadState::kEnded);
  end.set_value();
  idle.join();
}

// /proc alone lags by up to a tick: what a thread ran before a boundary was told as of the stretch
// behind it, and taken from what slept there.
TEST(ThreadAccount, TimesOfAThreadThatRunsAreThoseOfNow) {
  const ThreadAccount own(gettid());
  if (!own.Times()) GTEST_SKIP() << "this kernel does not count";
  for (int i = 0; i < 20; ++i) {
    volatile int64_t sum = 0;
    for (int k = 0; k < 100'000; ++k) sum = sum + k;
    const int64_t before_ns = own.CpuNs();
    const int64_t told_ns = own.Times()->on_processor_ns;
    EXPECT_LE(before_ns, told_ns);
    EXPECT_LE(told_ns, own.CpuNs());
  }
}

// A thread loses its processor where it enters the kernel, and to read its counts is such a place:
// that wait belongs to what follows the moment for which it read, not to what came before it.
TEST(RunTimes, WhatAThreadWaitedBeforeItReadIsNotOfTheMomentBefore) {
  const RunTimes before{.on_processor_ns = 1'000'000, .runnable_ns = 2'000'000};
  const RunTimes read{.on_processor_ns = 3'000'000, .runnable_ns = 9'000'000};
  const auto runnable = [&](int64_t ago_ns, const std::optional<RunTimes>& earlier) {
    const RunTimes counted = CountedBefore(read, ago_ns, earlier);
    EXPECT_EQ(counted.on_processor_ns, read.on_processor_ns);
    return counted.runnable_ns;
  };
  EXPECT_EQ(runnable(4'000'000, before), 5'000'000);
  EXPECT_EQ(runnable(20'000, before), 9'000'000) << "the reading itself";
  EXPECT_EQ(runnable(8'000'000, before), 2'000'000) << "what was counted before";
  EXPECT_EQ(runnable(20'000'000, std::nullopt), 0);
  EXPECT_EQ(runnable(-4'000'000, before), 9'000'000) << "a clock that is set back";
}

TEST(ThreadAccount, SaysThatItsThreadHasEnded) {
  std::promise<void> end;
  std::promise<int> started;
  std::thread thread([&] {
    started.set_value(gettid());
    end.get_future().wait();
  });
  const ThreadAccount account(started.get_future().get());
  end.set_value();
  thread.join();
  // Who joins is woken a moment before the kernel has taken the thread away.
  while (account.State() == ThreadState::kRunning) std::this_thread::yield();
  EXPECT_EQ(account.State(), ThreadState::kEnded);
  EXPECT_EQ(account.CpuNs(), 0);
  EXPECT_EQ(account.ActiveNs(), std::nullopt);
}

TEST(ThreadBoard, HandsOnWhatWasWrittenForThatOwner) {
  ThreadBoard board;
  EXPECT_EQ(board.Read(0), std::nullopt);
  board.Write(7, {.state = 0x1000, .number = 3});
  EXPECT_EQ(board.Read(7), (PythonThread{.state = 0x1000, .number = 3}));
  EXPECT_EQ(board.Read(6), std::nullopt) << "of a thread that trained before";
}

TEST(ThreadBoard, NeverMixesTwoThreads) {
  ThreadBoard board;
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (uint64_t i = 1; i < 200'000; ++i) board.Write(1, {.state = i, .number = 2 * i});
    done = true;
  });
  while (!done) {
    const auto thread = board.Read(1);
    ASSERT_TRUE(!thread || thread->number == 2 * thread->state);
  }
  writer.join();
  EXPECT_EQ(board.Read(1)->state, 199'999u);
}

}  // namespace
}  // namespace eroica
