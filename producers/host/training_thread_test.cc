#include "producers/host/training_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "producers/core/testing/recorded_core.h"
#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using recorded_core::TakenInterval;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsEmpty;

constexpr int64_t kStart = 1'000'000 * kNsPerMs;

class TrainingThreadTest : public ::testing::Test {
 protected:
  TrainingThreadTest() { recorded_core::Reset(); }
  void Say(int64_t ran_ms, int64_t waited_ms) {
    SayText(std::to_string(ran_ms * kNsPerMs) + " " + std::to_string(waited_ms * kNsPerMs) +
            " 7\n");
  }
  void SayText(std::string_view text) { files_.Write("self/task/42/schedstat", text); }
  void Read(int64_t at_ms) { thread_.Read(kStart + at_ms * kNsPerMs); }
  static std::vector<float> Samples(int resource) {
    std::vector<float> values;
    for (const auto& sample : recorded_core::Read().samples) {
      if (sample.resource == resource) values.push_back(sample.value);
    }
    return values;
  }
  // Start and end in milliseconds since kStart; what follows without a gap is one.
  static std::vector<std::pair<int64_t, int64_t>> Waits() {
    std::vector<std::pair<int64_t, int64_t>> waits;
    for (const TakenInterval& wait : recorded_core::Read().intervals) {
      const int64_t start_ms = (wait.start_ns - kStart) / kNsPerMs;
      const int64_t end_ms = (wait.end_ns - kStart) / kNsPerMs;
      if (!waits.empty() && waits.back().second == start_ms) {
        waits.back().second = end_ms;
      } else {
        waits.emplace_back(start_ms, end_ms);
      }
    }
    return waits;
  }

  MadeUpFiles files_;
  TrainingThread thread_{{.proc_root = files_.path(), .thread = 42}};
};

// The stack sampler reports these waits instead.
TEST_F(TrainingThreadTest, WaitsThatSomebodyElseReportsAreSamplesOnly) {
  eroica_reports_processor_waits(true);
  Say(1'000, 500);
  Read(0);
  Say(1'015, 508);
  Read(20);
  EXPECT_THAT(Samples(EROICA_CPU_WAIT), ElementsAre(FloatEq(0.4f)));
  EXPECT_THAT(Waits(), IsEmpty());
  eroica_reports_processor_waits(false);
  Say(1'030, 516);
  Read(40);
  EXPECT_THAT(Waits(), ElementsAre(std::pair(20, 24), std::pair(30, 34)));
}

TEST_F(TrainingThreadTest, WhatWasAddedSinceTheLastReadingIsReported) {
  Say(1'000, 500);
  Read(0);
  EXPECT_THAT(recorded_core::Read().samples, IsEmpty());  // what was before is no news
  Say(1'015, 508);
  Read(20);
  EXPECT_THAT(Samples(EROICA_CPU), ElementsAre(FloatEq(0.75)));
  EXPECT_THAT(Samples(EROICA_CPU_WAIT), ElementsAre(FloatEq(0.4f)));
  EXPECT_THAT(Waits(), ElementsAre(std::pair(0, 4), std::pair(10, 14)));
  const auto taken = recorded_core::Read();
  EXPECT_EQ(taken.functions[0].name, "(runnable, waiting for a processor)");
  EXPECT_EQ(taken.functions[0].function_class, EROICA_PYTHON);
  EXPECT_EQ(taken.functions[0].wait, EROICA_WAIT_OTHER);
  EXPECT_EQ(taken.lanes[0].name, "training thread");
  EXPECT_EQ(taken.lanes[0].kind, EROICA_TRAINING_THREAD);
  EXPECT_EQ(taken.misuse, 0u);
}

TEST_F(TrainingThreadTest, AWaitThatIsSeenLateReachesBackButNeverIntoTheOneBefore) {
  Say(0, 0);
  Read(0);
  Say(0, 10);
  Read(20);
  Say(0, 10);
  Read(40);
  EXPECT_THAT(Waits(), ElementsAre(std::pair(0, 5), std::pair(10, 15)));
  Say(0, 100);  // 90, of which the kernel said nothing until it ended
  Read(60);
  EXPECT_THAT(Waits(), ElementsAre(std::pair(0, 5), std::pair(10, 15), std::pair(20, 60)));
  Say(0, 100);  // what did not fit is told later: 50 of 100
  Read(160);
  EXPECT_EQ(Waits().size(), 2u + 10u) << "the first of these begins where the one before ends";
  EXPECT_EQ(Waits().back(), std::pair(int64_t{150}, int64_t{155}));
}

TEST_F(TrainingThreadTest, WhatDoesNotFitBelowOneIsCarriedOnInBounds) {
  Say(0, 0);
  Read(0);
  Say(60, 0);  // the kernel adds at its own ticks
  Read(40);
  Say(60, 0);
  Read(80);
  Say(1'000'000, 0);
  Read(120);
  Say(1'000'000, 0);
  Read(1'120);
  EXPECT_THAT(Samples(EROICA_CPU),
              ElementsAre(FloatEq(1), FloatEq(0.5), FloatEq(1), FloatEq(0.2f)));
}

TEST_F(TrainingThreadTest, ShortWaitsAreReportedOnceTheyAddUp) {
  SayText("0 0 0\n");
  Read(0);
  SayText("0 60000 0\n");
  Read(20);
  EXPECT_THAT(Waits(), IsEmpty());
  SayText("0 120000 0\n");
  Read(40);
  ASSERT_EQ(Waits().size(), 2u);
  const TakenInterval first = recorded_core::Read().intervals[0];
  EXPECT_EQ(first.start_ns, kStart + 20 * kNsPerMs);
  EXPECT_EQ(first.end_ns - first.start_ns, 60'000);
}

TEST_F(TrainingThreadTest, CountersAndClocksThatGoBackStartAnew) {
  Say(100, 100);
  Read(0);
  Say(90, 200);  // one of them suffices
  Read(20);
  Say(110, 210);
  Read(10);  // the clock went back
  Say(120, 215);
  Read(40);
  EXPECT_THAT(Samples(EROICA_CPU), ElementsAre(FloatEq(0.5)));
  EXPECT_THAT(Waits(), ElementsAre(std::pair(20, 22), std::pair(30, 32)));
}

TEST_F(TrainingThreadTest, TextThatIsNoneIsNotUsed) {
  Read(0);  // missing: an old kernel, a container
  for (const char* text : {"", "\n", "1", "1 2", "12 x 3\n", "-1 5 5\n",
                           "99999999999999999999999 1 1\n", "1\n2 3\n"}) {
    EXPECT_FALSE(ParseSchedstat(text)) << text;
    SayText(text);
    Read(20'000);
  }
  EXPECT_THAT(recorded_core::Read().samples, IsEmpty());
  EXPECT_TRUE(ParseSchedstat("18446744073709551615 1 1\n"));
}

TEST_F(TrainingThreadTest, CountersAtTheirEndDoNotOverflow) {
  SayText("0 0 0\n");
  Read(0);
  SayText("18446744073709551615 18446744073709551615 1\n");
  Read(1'000);
  EXPECT_THAT(Samples(EROICA_CPU), ElementsAre(FloatEq(1)));
  EXPECT_THAT(Waits(), ElementsAre(std::pair(0, 1'000)));
  EXPECT_DOUBLE_EQ(thread_.wait_share_of_last_second(), 1);
}

TEST_F(TrainingThreadTest, TheNameSaysWhoUsesTheProcessor) {
  Say(0, 0);
  Read(0);
  thread_.NameCompetitor("stress-ng");
  Say(0, 600);
  Read(1'000);
  EXPECT_DOUBLE_EQ(thread_.wait_share_of_last_second(), 0.6);
  thread_.NameCompetitor("");
  Say(0, 700);
  Read(2'000);
  for (int i = 0; i < 100; ++i) {  // names that never end
    thread_.NameCompetitor("program" + std::to_string(i));
    Say(0, 800 + i * 10);
    Read(3'000 + i * 100);
  }
  const auto functions = recorded_core::Read().functions;
  EXPECT_EQ(functions[0].name, "(runnable, waiting for a processor)");
  EXPECT_EQ(functions[1].name, "(processor used by stress-ng)");
  EXPECT_LE(functions.size(), 17u);
  const auto lanes = recorded_core::Read().lanes;
  EXPECT_EQ(lanes[1].kind, EROICA_HOST_THREAD);  // what is no work of the thread counts as none
}

TEST_F(TrainingThreadTest, NobodyWantsFunctions) {
  recorded_core::Reset(true, 0);
  Say(0, 0);
  Read(0);
  Say(0, 10);
  Read(20);
  EXPECT_THAT(Waits(), IsEmpty());
  EXPECT_EQ(Samples(EROICA_CPU_WAIT).size(), 1u);
}

// A thread of this process, as the kernel counts it.
class RealThread {
 public:
  RealThread() : thread_([this] { Run(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return id_ != 0; });
  }
  int id() const { return id_; }
  // Until the system has forgotten it, which is a moment after it was joined.
  void End() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    changed_.notify_all();
    thread_.join();
    while (std::filesystem::exists("/proc/self/task/" + std::to_string(id_))) {
      std::this_thread::yield();
    }
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    id_ = static_cast<int>(syscall(SYS_gettid));
    changed_.notify_all();
    changed_.wait(lock, [&] { return end_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int id_ = 0;
  bool end_ = false;
  std::thread thread_;
};

TEST(TrainingThreadOfThisProcess, RunsUntilItEndsAndIsNotTakenForAnother) {
  recorded_core::Reset();
  RealThread real;
  TrainingThread thread({.thread = real.id()});
  thread.Read(kStart);
  thread.Read(kStart + 20 * kNsPerMs);
  EXPECT_EQ(recorded_core::Read().samples.size(), 2u);
  real.End();
  thread.Read(kStart + 40 * kNsPerMs);
  thread.Read(kStart + 60'000 * kNsPerMs);
  EXPECT_EQ(recorded_core::Read().samples.size(), 2u);
}

TEST(TrainingThreadOfThisProcess, SaysThatItRan) {
  recorded_core::Reset();
  TrainingThread thread({.thread = getpid()});
  const auto begin = std::chrono::steady_clock::now();
  const auto now = [&] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count() + 1;
  };
  const auto ran = [] {
    for (const auto& sample : recorded_core::Read().samples) {
      if (sample.resource == EROICA_CPU && sample.value > 0) return true;
    }
    return false;
  };
  while (!ran() && now() < 30'000 * kNsPerMs) thread.Read(now());
  EXPECT_TRUE(ran());
}

}  // namespace
}  // namespace eroica
