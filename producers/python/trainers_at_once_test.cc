// Threads that begin to train while another is still among what it was asked for, as happens where
// no GIL keeps them apart: each of these is entered by one of them at a time. With a CPython that
// is made up, which holds a thread where it is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "producers/core/producer_core.h"
#include "producers/core/testing/recorded_core.h"
#include "producers/python/full_trace.h"
#include "producers/python/garbage_collections.h"
#include "producers/python/stack_sampler.h"
#include "producers/python/testing/made_up_python.h"

namespace eroica {
namespace {

using made_up_python::Function;

bool ComesTrue(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

bool SomebodyIsInside() { return made_up_python::Inside() > 0; }

class TrainersAtOnceTest : public ::testing::Test {
 protected:
  TrainersAtOnceTest() {
    recorded_core::Reset(true, 2);
    made_up_python::Reset();
    const char* why = nullptr;
    EXPECT_TRUE(FindCPython(&python_, &why)) << why;
  }
  ~TrainersAtOnceTest() override {
    made_up_python::Reset();
    recorded_core::SetWantsFullTrace(false);
  }

  // `first` is held in the function; the thread that calls then begins to train and does `second`.
  static void Run(Function function, const std::function<void()>& first,
                  const std::function<void()>& second) {
    made_up_python::HoldIn(function);
    std::thread before([&] {
      eroica_dataloader_next(eroica_now_ns());
      EXPECT_TRUE(eroica_trains());
      first();
    });
    EXPECT_TRUE(ComesTrue(SomebodyIsInside));
    std::atomic<bool> has_done = false;
    std::thread after([&] {
      eroica_step(eroica_now_ns());  // a sign that weighs more
      EXPECT_TRUE(eroica_trains());
      second();
      has_done = true;
    });
    EXPECT_TRUE(ComesTrue([&] { return has_done || made_up_python::MostInside() > 1; }));
    EXPECT_EQ(made_up_python::MostInside(), 1);
    made_up_python::LetGo();
    before.join();
    after.join();
  }

  CPythonApi python_;
};

TEST_F(TrainersAtOnceTest, VisitOneAtATime) {
  StackSampler sampler(python_, {.hz = 1'000});
  const char* why = nullptr;
  ASSERT_TRUE(sampler.Start(&why)) << why;
  const auto visit = [&] {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    while (std::chrono::steady_clock::now() < deadline) sampler.OnTrainingCall();
  };
  Run(
      Function::kUnicode,
      [&] {
        EXPECT_TRUE(ComesTrue([&] {
          sampler.OnTrainingCall();
          return sampler.Read().visits > 0;
        }));
      },
      visit);
  sampler.Stop();
}

TEST_F(TrainersAtOnceTest, AreTracedOneAtATime) {
  recorded_core::SetWantsFullTrace(true);
  FullTrace trace(python_, "");
  int second = 0;
  Run(
      Function::kGetCode,
      [&] {
        trace.InstallIfWanted();
        EXPECT_EQ(made_up_python::CallUnderProfile(), 0);
      },
      [&] {
        second = gettid();
        trace.InstallIfWanted();
        EXPECT_FALSE(trace.IsInstalledOn(second)) << "the other one is among its events";
        made_up_python::CallUnderProfile();
      });
  std::thread third([&] {
    eroica_step(eroica_now_ns());
    eroica_trainer_ended(eroica_trainer().number);
    eroica_step(eroica_now_ns());
    ASSERT_TRUE(eroica_trains());
    trace.InstallIfWanted();
    EXPECT_TRUE(trace.IsInstalledOn(gettid())) << "it is nobody's turn any more";
    trace.Remove();
  });
  third.join();
}

TEST_F(TrainersAtOnceTest, HaveTheStacksOfCollectionsOneAtATime) {
  GarbageCollections collections(python_, "", -1);
  uint32_t second = EROICA_NO_PARENT;
  Run(
      Function::kGetFrame, [&] { collections.FunctionHere(); },
      [&] { second = collections.FunctionHere(); });
  EXPECT_EQ(second, GarbageCollections::FunctionAnywhere());
}

}  // namespace
}  // namespace eroica
