// What a library throws on the sampler's thread, in what the interpreter calls and in what the
// package calls: training continues, and what has ended is said. With a CPython that is made up, as
// none of the real ones throws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "producers/core/producer_core.h"
#include "producers/core/testing/recorded_core.h"
#include "producers/python/full_trace.h"
#include "producers/python/python_calls.h"
#include "producers/python/sampler_calls.h"
#include "producers/python/stack_sampler.h"
#include "producers/python/testing/made_up_python.h"
#include "schemas/testing/failing_new.h"

namespace eroica {
namespace {

using made_up_python::Function;
using ::testing::HasSubstr;

constexpr double kHz = 1'000;

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class SamplerBoundaryTest : public ::testing::Test {
 protected:
  SamplerBoundaryTest() {
    recorded_core::Reset(true, 2);
    made_up_python::Reset();
    const char* why = nullptr;
    EXPECT_TRUE(FindCPython(&python_, &why)) << why;
  }
  ~SamplerBoundaryTest() override {
    made_up_python::Reset();
    recorded_core::SetWantsFullTrace(false);
  }

  CPythonApi python_;
};

// Throws at producers/python/stack_sampler.cc: the sampler's thread
TEST_F(SamplerBoundaryTest, WhatTheSamplersThreadThrowsEndsItAndIsSaid) {
  StackSampler sampler(python_, {.hz = kHz});
  made_up_python::ThrowIn(Function::kAddPendingCall);
  testing::internal::CaptureStderr();
  const char* why = nullptr;
  ASSERT_TRUE(sampler.Start(&why)) << why;
  EXPECT_TRUE(Eventually([] { return made_up_python::Thrown() > 0; }));
  sampler.Stop();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "eroica: the sampler of Python's stacks records no more: an exception of a library "
            "(std::bad_alloc: std::bad_alloc). Training goes on.\n");
  EXPECT_EQ(sampler.Read().ticks, 1U);
}

// Throws at producers/python/stack_sampler.cc: a visit of the training thread
TEST_F(SamplerBoundaryTest, AVisitThatThrowsIsLostAndTheNextOneIsMade) {
  StackSampler sampler(python_, {.hz = kHz});
  made_up_python::ThrowIn(Function::kGetFrame);
  const char* why = nullptr;
  ASSERT_TRUE(sampler.Start(&why)) << why;
  const auto visit = [] {
    int answer = -1;
    EXPECT_TRUE(Eventually([&] { return (answer = made_up_python::RunPendingCall()) != -1; }));
    return answer;
  };
  EXPECT_EQ(visit(), 0) << "CPython takes anything else for an exception of Python's";
  EXPECT_EQ(made_up_python::Thrown(), 1);
  EXPECT_EQ(sampler.Read().visits, 0U);
  made_up_python::ThrowIn(Function::kNone);
  EXPECT_EQ(visit(), 0);
  EXPECT_EQ(sampler.Read().visits, 1U);
  sampler.Stop();
}

// The made-up CPython is one whose frames are not read from memory, as 3.14.
TEST_F(SamplerBoundaryTest, AThreadBesideTheMainOneHasNoStacksOfVisitsAndThatIsSaidOnce) {
  testing::internal::CaptureStderr();
  StackSampler sampler(python_, {.hz = kHz});
  const char* why = nullptr;
  ASSERT_TRUE(sampler.Start(&why)) << why;
  std::promise<void> trains, end;
  std::thread trainer([&] {
    eroica_step(eroica_now_ns());
    trains.set_value();
    end.get_future().wait();
    sampler.OnTrainingCall();
  });
  trains.get_future().wait();
  const uint64_t before = sampler.Read().ticks;
  EXPECT_TRUE(Eventually([&] { return sampler.Read().ticks > before + 5; }));
  made_up_python::RunPendingCall();  // asked of the main thread while it stood for the trainer
  EXPECT_EQ(sampler.Read().samples, 0U);
  end.set_value();
  trainer.join();
  sampler.Stop();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::StartsWith("eroica: no Python stacks while a thread beside the main one"));
}

// Throws at producers/python/full_trace.cc: the profile function
TEST_F(SamplerBoundaryTest, AProfileFunctionThatThrowsTakesItselfOffAndIsSaid) {
  recorded_core::SetWantsFullTrace(true);
  FullTrace trace(python_, "");
  trace.InstallIfWanted();
  ASSERT_TRUE(trace.IsInstalledOn(gettid()));
  EXPECT_EQ(made_up_python::CallUnderProfile(), 0);
  EXPECT_TRUE(trace.IsInstalledOn(gettid()));
  made_up_python::ThrowIn(Function::kGetCode);
  testing::internal::CaptureStderr();
  EXPECT_EQ(made_up_python::CallUnderProfile(), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "eroica: the full trace of Python records no more: an exception of a library "
            "(std::bad_alloc: std::bad_alloc). Training goes on.\n");
  EXPECT_FALSE(trace.IsInstalledOn(gettid()));
  EXPECT_EQ(made_up_python::CallUnderProfile(), -1) << "none is set";
}

// Throws at producers/python/python_calls.cc: the name of a frame
TEST_F(SamplerBoundaryTest, AFrameWithoutMemoryForItsNameIsLeftOut) {
  const auto frame = [](uint32_t parent) {
    return eroica_python_frame(parent, "/jobs/train.py", 7, "main", "/jobs\n/usr/lib/python3.11");
  };
  const uint32_t caller = frame(EROICA_NO_PARENT);
  ASSERT_NE(caller, EROICA_NO_PARENT);
  {
    const FailingNew failing(FailingNew::Where::kThisThread);
    EXPECT_EQ(frame(caller), caller);
    EXPECT_GT(failing.failed(), 0);
  }
  EXPECT_NE(frame(caller), caller);
  EXPECT_EQ(recorded_core::Read().functions.at(caller).name, "train.py(7): main");
}

// Throws at producers/python/sampler_calls.cc: the start of the sampler
// Throws at producers/python/sampler_calls.cc: the stack of a collection
TEST_F(SamplerBoundaryTest, ThePackageHearsWhyThereIsNoSampler) {
  const auto start = [] { return eroica_python_start_sampler(kHz, "/own/", -1, nullptr); };
  const char* why = nullptr;
  {
    const FailingNew no_memory(FailingNew::Where::kThisThread);
    why = start();
  }
  ASSERT_NE(why, nullptr);
  EXPECT_THAT(std::string(why), HasSubstr("std::bad_alloc"));
  ASSERT_EQ(start(), nullptr) << "there is memory again";
  made_up_python::ThrowIn(Function::kGetFrame);
  eroica_python_collection(eroica_now_ns());
  EXPECT_EQ(made_up_python::Thrown(), 1);
  const recorded_core::Recorded recorded = recorded_core::Read();
  ASSERT_EQ(recorded.intervals.size(), 1U);
  const recorded_core::TakenFunction& function =
      recorded.functions.at(recorded.intervals[0].function);
  EXPECT_EQ(function.name, "<gc collection>");
  EXPECT_EQ(function.parent, EROICA_NO_PARENT) << "of no stack";
  eroica_python_stop_sampler();
}

}  // namespace
}  // namespace eroica
