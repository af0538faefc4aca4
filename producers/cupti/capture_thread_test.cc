#include "producers/cupti/capture_thread.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "producers/core/testing/recorded_core.h"
#include "producers/cupti/testing/fake_cupti_api.h"

namespace eroica {
namespace {

using State = CuptiCapture::State;
constexpr int64_t kSomeNs = 1'700'000'000'000'000'000;
constexpr uint32_t kTimeoutMs = 20'000;

// Waits for what other threads do, with a deadline.
bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class CaptureThreadTest : public testing::Test {
 protected:
  CaptureThreadTest() : thread_(5'000'000) {
    recorded_core::Reset(true, 1);
    CuptiCapture::Options options;
    options.pool = {.buffer_bytes = 4'096, .buffers = 16, .spare_bytes = 1'024, .spares = 32};
    options.flush_period_ns = 5'000'000;
    options.wake = [this] { thread_.Wake(); };
    capture_ = std::make_unique<CuptiCapture>(api_, std::move(options));
  }
  void Start() {
    capture_->Start(0);
    ASSERT_TRUE(thread_.Start(*capture_));
  }
  static size_t Kernels() { return recorded_core::Read().intervals.size(); }

  FakeCuptiApi api_;
  std::unique_ptr<CuptiCapture> capture_;
  CaptureThread thread_;  // ends before the capture goes
};

// CUPTI that throws, as C++ libraries below it may.
class ThrowingCuptiApi : public FakeCuptiApi {
 public:
  int FlushAll(bool) override { throw std::runtime_error("of a library"); }
};

// Throws at producers/cupti/capture_thread.cc: the capture's thread
TEST(CaptureThread, WhatALibraryThrowsEndsTheCaptureAndIsSaidOnce) {
  recorded_core::Reset(true, 1);
  ThrowingCuptiApi api;
  CaptureThread thread(5'000'000);
  CuptiCapture::Options options;
  options.flush_period_ns = 5'000'000;
  options.wake = [&] { thread.Wake(); };
  CuptiCapture capture(api, std::move(options));
  testing::internal::CaptureStderr();
  capture.Start(0);
  ASSERT_TRUE(thread.Start(capture));
  EXPECT_TRUE(Eventually([&] { return thread.state() == State::kOff; }));
  EXPECT_TRUE(thread.Stop(kTimeoutMs));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("std::runtime_error: of a library"),
            std::string::npos);
}

TEST_F(CaptureThreadTest, NothingStartedNothingToStop) {
  EXPECT_TRUE(thread_.Yield(0));
  thread_.Resume();
  EXPECT_TRUE(thread_.Stop(0));
  EXPECT_EQ(thread_.state(), State::kOff);
}

TEST_F(CaptureThreadTest, EndsByItselfWhereThereIsNoGpu) {
  api_.BreakDown();
  Start();
  ASSERT_TRUE(Eventually([&] { return thread_.state() == State::kOff; }));
  EXPECT_TRUE(thread_.Yield(kTimeoutMs));
  EXPECT_TRUE(thread_.Stop(kTimeoutMs));
}

TEST_F(CaptureThreadTest, FlushesByItself) {
  Start();
  api_.Kernel("k", kSomeNs, kSomeNs + 1);
  EXPECT_TRUE(Eventually([] { return Kernels() == 1; }));
}

TEST_F(CaptureThreadTest, StopBringsTheLastRecords) {
  api_.KeepIncomplete(true);
  Start();
  api_.Kernel("k", kSomeNs, kSomeNs + 1);
  ASSERT_TRUE(thread_.Stop(kTimeoutMs));
  EXPECT_EQ(Kernels(), 1u);
  EXPECT_EQ(thread_.state(), State::kOff);
}

TEST_F(CaptureThreadTest, CuptiIsFreeWhenYieldReturns) {
  Start();
  for (int i = 0; i < 20; ++i) {
    api_.Kernel("k", kSomeNs, kSomeNs + 1);
    ASSERT_TRUE(thread_.Yield(kTimeoutMs));
    EXPECT_TRUE(api_.enabled().empty());
    EXPECT_FALSE(api_.has_buffer());
    thread_.Resume();
    ASSERT_TRUE(Eventually([&] { return thread_.state() == State::kCapturing; }));
  }
  EXPECT_EQ(Kernels(), 20u);
}

// A CUPTI whose flush does not return: who asks is not kept.
class StuckCuptiApi : public FakeCuptiApi {
 public:
  int FlushAll(bool forced) override {
    inside_ = true;
    while (stuck_) std::this_thread::yield();
    return FakeCuptiApi::FlushAll(forced);
  }
  std::atomic<bool> stuck_{true};
  std::atomic<bool> inside_{false};
};

TEST(CaptureThreadAlone, YieldAndStopGiveUpAfterTheirTime) {
  recorded_core::Reset(true, 1);
  StuckCuptiApi api;
  CaptureThread thread(1'000'000);
  CuptiCapture::Options options;
  options.flush_period_ns = 0;
  options.wake = [&] { thread.Wake(); };
  CuptiCapture capture(api, std::move(options));
  capture.Start(0);
  ASSERT_TRUE(thread.Start(capture));
  ASSERT_TRUE(Eventually([&] { return api.inside_.load(); }));
  EXPECT_FALSE(thread.Yield(10));
  EXPECT_FALSE(thread.Stop(10));
  // A buffer that comes back meanwhile does not wait either.
  api.Kernel("k", kSomeNs, kSomeNs + 1);
  api.stuck_ = false;
  EXPECT_TRUE(thread.Stop(kTimeoutMs));
}

TEST_F(CaptureThreadTest, AForkedChildIsLeftAlone) {
  Start();
  const pid_t child = fork();
  if (child == 0) {
    const bool fine = thread_.Yield(0) && thread_.Stop(0) && thread_.state() == State::kOff;
    thread_.Resume();
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(thread_.state(), State::kCapturing);
}

// Threads of the application launch, others ask for CUPTI, one changes the level: the books close.
TEST_F(CaptureThreadTest, ManyThreads) {
  constexpr int kLaunchers = 3;
  constexpr int kKernelsEach = 3'000;
  Start();
  std::atomic<int> running{kLaunchers};
  std::vector<std::thread> threads;
  for (int i = 0; i < kLaunchers; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < kKernelsEach; ++k) {
        api_.Kernel(k % 2 == 0 ? "a" : "b", kSomeNs, kSomeNs + 1, static_cast<uint32_t>(i));
      }
      --running;
    });
  }
  threads.emplace_back([&] {
    while (running > 0) {
      thread_.Yield(kTimeoutMs);
      thread_.Resume();
    }
  });
  threads.emplace_back([&] {
    for (int level = 0; running > 0; level = 1 - level) recorded_core::SetCaptureLevel(level);
  });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(thread_.Stop(kTimeoutMs));
  const CuptiCapture::Counts counts = capture_->counts();
  EXPECT_FALSE(api_.crashed());
  EXPECT_EQ(counts.collector.intervals, Kernels());
  EXPECT_EQ(counts.collector.records, counts.collector.intervals);
  EXPECT_LE(counts.collector.intervals, uint64_t{kLaunchers} * kKernelsEach);
}

}  // namespace
}  // namespace eroica
