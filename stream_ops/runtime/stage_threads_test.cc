#include "stream_ops/runtime/stage_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using testing::AppendAll;
using testing::DistinctValues;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TwoSums;

constexpr std::chrono::seconds kDeadline{60};

class StageThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CreateMissingTopics(log_.admin(), "eroica", {}).ok());
    options_.thread.poll_timeout = milliseconds(5);
    options_.thread.commit_interval = milliseconds(10);
    options_.thread.idle_timeout = std::nullopt;
  }

  void Send(const std::vector<std::string>& values) {
    std::vector<ProducerRecord> records;
    for (const std::string& value : values)
      records.push_back({"eroica.events", "", value, {}, 0, 0});
    AppendAll(log_, std::move(records));
  }

  // Polls the topic until it says what is expected.
  bool Says(const std::string& topic, const std::vector<std::string>& expected) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (std::chrono::steady_clock::now() < deadline) {
      if (DistinctValues(log_, topic) == expected) return true;
    }
    return false;
  }

  MemoryLog log_;
  InMemoryStore store_;
  StageThreadsOptions options_;
};

TEST_F(StageThreadsTest, RunsAllStagesUntilStopped) {
  StageThreads threads(log_, store_, TwoSums(), {}, options_);
  ASSERT_TRUE(threads.Start().ok());
  Send({"a:1:5", "a:2:6", "a:3:7"});
  EXPECT_TRUE(Says("eroica.findings", {"a:1:5"}));
  const absl::Status status = threads.Stop();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(threads.Probes().at("first").records_processed, 3u);
  EXPECT_EQ(threads.Probes().at("second").records_processed, 2u);
}

TEST_F(StageThreadsTest, GoesOnAfterARestart) {
  for (int window = 10; window < 16; ++window) {
    StageThreads threads(log_, store_, TwoSums(), {}, options_);
    ASSERT_TRUE(threads.Start().ok());
    Send({"a:" + std::to_string(window) + ":1"});
    ASSERT_TRUE(threads.Stop().ok());
  }
  Send({"a:16:1"});
  StageThreads threads(log_, store_, TwoSums(), {}, options_);
  ASSERT_TRUE(threads.Start().ok());
  EXPECT_TRUE(Says("eroica.findings", {"a:10:1", "a:11:1", "a:12:1", "a:13:1", "a:14:1"}));
}

TEST_F(StageThreadsTest, RunsOnlyItsRoles) {
  Send({"a:1:5", "a:2:6", "a:3:7"});
  StageThreads threads(log_, store_, TwoSums(), {"first"}, options_);
  ASSERT_TRUE(threads.Start().ok());
  EXPECT_TRUE(Says("eroica.patterns", {"a:1:5", "a:2:6"}));
  ASSERT_TRUE(threads.Stop().ok());
  EXPECT_TRUE(DistinctValues(log_, "eroica.findings").empty());
  EXPECT_EQ(threads.Probes().size(), 1u);
}

TEST_F(StageThreadsTest, RefusesAnUnknownRole) {
  StageThreads threads(log_, store_, TwoSums(), {"third"}, options_);
  EXPECT_EQ(threads.Start().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StageThreadsTest, AnErrorOfOneStageEndsAllAndIsTold) {
  Send({"a:1:5", "fail"});
  StageThreads threads(log_, store_, TwoSums(), {}, options_);
  ASSERT_TRUE(threads.Start().ok());
  const absl::Status status = threads.Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("stage first: task first/eroica.events/0 at offset 1"));
  EXPECT_EQ(threads.Stop(), status);
}

// Throws at stream_ops/runtime/stage_threads.cc: a stage
TEST_F(StageThreadsTest, WhatALibraryThrowsInAStageIsAnErrorOfTheStage) {
  for (const auto& [value, text] :
       {std::pair("throw", "std::bad_alloc"), {"throw a number", "int"}}) {
    MemoryLog log;
    InMemoryStore store;
    ASSERT_TRUE(CreateMissingTopics(log.admin(), "eroica", {}).ok());
    AppendAll(log, {{"eroica.events", "", value, {}, 0, 0}});
    StageThreads threads(log, store, TwoSums(), {}, options_);
    ASSERT_TRUE(threads.Start().ok());
    const absl::Status status = threads.Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("stage first"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(threads.Stop(), status);
  }
}

TEST_F(StageThreadsTest, RequestStopEndsTheWait) {
  StageThreads threads(log_, store_, TwoSums(), {}, options_);
  ASSERT_TRUE(threads.Start().ok());
  std::jthread other([&] { threads.RequestStop(); });
  EXPECT_TRUE(threads.Wait().ok());
}

TEST_F(StageThreadsTest, LaterStagesWaitLongerForSilence) {
  options_.thread.idle_timeout = milliseconds(50);
  Send({"a:1:5"});
  StageThreads threads(log_, store_, TwoSums(), {}, options_);
  ASSERT_TRUE(threads.Start().ok());
  EXPECT_TRUE(Says("eroica.findings", {"a:1:5"}));
}

}  // namespace
}  // namespace eroica
