#include "tests/evaluation/score/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace eroica {
namespace {

using ::testing::HasSubstr;

std::vector<ScoredRun> Named(const std::string& name) { return {ScoredRun{.method = name}}; }

RunTask Task(const std::string& name, uint32_t ranks) {
  return {.name = name, .ranks = ranks, .steps = 1, .run = [name](const auto&) {
            return absl::StatusOr<std::vector<ScoredRun>>(Named(name));
          }};
}

TEST(RunQueue, ResultsStandInTheOrderOfTheTasks) {
  std::vector<RunTask> tasks;
  for (int i = 0; i < 50; ++i)
    tasks.push_back(Task(std::to_string(i), static_cast<uint32_t>(i % 7)));
  for (const int threads : {1, 4}) {
    const auto runs = RunTasks(tasks, {.threads = threads}, nullptr);
    ASSERT_TRUE(runs.ok());
    ASSERT_EQ(runs->size(), 50u);
    for (size_t i = 0; i < runs->size(); ++i) EXPECT_EQ((*runs)[i].method, std::to_string(i));
  }
}

TEST(RunQueue, NothingToDoIsDone) {
  const auto runs = RunTasks({}, {.threads = 3}, nullptr);
  ASSERT_TRUE(runs.ok());
  EXPECT_TRUE(runs->empty());
}

TEST(RunQueue, OneBigTaskAtATime) {
  std::atomic<int> big = 0;
  std::atomic<int> big_max = 0;
  std::vector<RunTask> tasks;
  for (int i = 0; i < 12; ++i) {
    tasks.push_back(Task("big", 5000));
    tasks.back().run = [&](const auto&) {
      const int now = ++big;
      if (now > big_max) big_max = now;
      std::this_thread::yield();
      --big;
      return absl::StatusOr<std::vector<ScoredRun>>(Named("big"));
    };
  }
  ASSERT_TRUE(RunTasks(tasks, {.threads = 4}, nullptr).ok());
  EXPECT_EQ(big_max, 1);
}

TEST(RunQueue, SmallTasksRunBesideABigOne) {
  std::latch both(2);  // each waits for the other: this ends only where they run at once
  std::vector<RunTask> tasks = {Task("big", 5000), Task("small", 8)};
  for (RunTask& task : tasks) {
    task.run = [&both](const auto&) {
      both.arrive_and_wait();
      return absl::StatusOr<std::vector<ScoredRun>>(Named("done"));
    };
  }
  EXPECT_TRUE(RunTasks(tasks, {.threads = 2}, nullptr).ok());
}

TEST(RunQueue, TheFirstErrorEndsAllAndSaysWhose) {
  std::latch failed(1);
  std::vector<RunTask> tasks = {Task("fails", 8), Task("runs on", 7)};
  tasks[0].run = [&failed](const auto&) {
    failed.count_down();
    return absl::StatusOr<std::vector<ScoredRun>>(absl::InvalidArgumentError("no such rank"));
  };
  tasks[1].run = [&failed](const std::function<absl::Status(uint32_t)>& progress)
      -> absl::StatusOr<std::vector<ScoredRun>> {
    failed.wait();
    while (true) {
      if (absl::Status status = progress(0); !status.ok()) return status;
      std::this_thread::yield();
    }
  };
  const auto runs = RunTasks(tasks, {.threads = 2}, nullptr);
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(runs.status().message(), HasSubstr("fails: no such rank"));
}

TEST(RunQueue, ProgressNeverGoesBeyondTheTotal) {
  std::vector<RunTask> tasks = {Task("a", 10), Task("b", 20)};
  for (RunTask& task : tasks) {
    task.steps = 4;
    task.run = [](const std::function<absl::Status(uint32_t)>& progress) {
      for (const uint32_t steps : {1u, 3u, 2u, 99u}) EXPECT_TRUE(progress(steps).ok());
      return absl::StatusOr<std::vector<ScoredRun>>(Named("done"));
    };
  }
  ASSERT_TRUE(RunTasks(tasks, {.threads = 2}, [](uint64_t done, uint64_t total) {
                EXPECT_EQ(total, 120u);
                EXPECT_LE(done, total);
              }).ok());
}

}  // namespace
}  // namespace eroica
