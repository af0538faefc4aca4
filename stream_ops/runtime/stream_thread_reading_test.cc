// A stage whose memory is short: tasks let go of their windows, and read them again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using testing::AppendAll;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Repeats;
using testing::SortedValues;
using testing::WindowSum;

class StreamThreadReadingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(log_.admin().CreateTopic({"eroica.events", 2, {}, 1}).ok());
    for (const char* topic : {"eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 1, {}, 1}).ok());
    options_.poll_timeout = milliseconds(0);
    options_.poll_records_max = 1;
    options_.idle_timeout = milliseconds(2000);
  }

  void Send(int32_t partition, int64_t time_ms, const std::string& value) {
    AppendAll(log_, {{"eroica.events", "", value, {}, time_ms, partition}});
  }

  void StepFor(StreamThread& thread, milliseconds duration) {
    for (const TimePoint end = now_ + duration; now_ < end; now_ += milliseconds(100)) {
      const absl::StatusOr<milliseconds> wait = thread.RunOnce(now_);
      ASSERT_TRUE(wait.ok()) << wait.status();
    }
  }

  MemoryLog log_;
  InMemoryStore store_;
  std::shared_ptr<MemoryPool> pool_ = std::make_shared<MemoryPool>(1'000);
  MemoryUse others_{pool_};  // what the rest of the stage holds
  std::vector<PunctuationType> told_;
  Stage stage_{
      "sum", Topic::kEvents,
      [this] { return std::make_unique<WindowSum>(Topic::kPatterns, Repeats::kAdd, &told_); },
      pool_};
  StreamThreadOptions options_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(StreamThreadReadingTest, ATaskThatIsAheadLetsGoAndReadsItsWindowsAgain) {
  Send(0, 9'000, "a:1:5");
  Send(1, 1'000, "b:1:7");
  Send(1, 1'100, "b:1:1");
  StreamThread thread(log_, store_, stage_, options_);
  StepFor(thread, milliseconds(300));
  EXPECT_EQ(thread.probe().unloads, 0u);
  others_.Set(900);
  Send(1, 1'200, "b:2:1");
  Send(1, 1'300, "b:2:2");
  StepFor(thread, milliseconds(300));
  EXPECT_GE(thread.probe().unloads, 1u);
  EXPECT_THAT(SortedValues(log_, "eroica.patterns"), ElementsAre("b:1:8"));
  others_.Set(0);
  Send(0, 9'100, "a:1:6");
  Send(0, 9'200, "a:2:1");
  StepFor(thread, milliseconds(1'000));
  EXPECT_THAT(SortedValues(log_, "eroica.patterns"), ElementsAre("a:1:11", "b:1:8"));
  StepFor(thread, milliseconds(3'000));
  EXPECT_EQ(thread.probe().tasks_waiting, 0u);
  EXPECT_THAT(SortedValues(log_, "eroica.patterns"),
              ElementsAre("a:1:11", "a:2:1", "b:1:8", "b:2:3"));
}

TEST_F(StreamThreadReadingTest, AnUnloadedTaskHearsOfSilenceWithAllThatItHad) {
  Send(0, 1'000, "a:1:5");
  StreamThread thread(log_, store_, stage_, options_);
  StepFor(thread, milliseconds(300));
  others_.Set(900);
  StepFor(thread, milliseconds(300));
  EXPECT_EQ(thread.probe().unloads, 0u) << "nobody needs the room";
  Send(1, 2'000, "b:1:7");
  Send(1, 2'100, "b:1:1");
  StepFor(thread, milliseconds(300));
  EXPECT_EQ(thread.probe().unloads, 1u);
  EXPECT_THAT(told_, IsEmpty());
  StepFor(thread, milliseconds(4'000));
  EXPECT_THAT(SortedValues(log_, "eroica.patterns"), ElementsAre("a:1:5", "b:1:8"));
  EXPECT_EQ(thread.probe().tasks_waiting, 0u);
}

// Nothing of it was processed for long, but the log has more: that is no silence to wait for.
TEST_F(StreamThreadReadingTest, WhatWaitedForItsTurnLetsGoAgainWhileItIsRead) {
  for (int i = 0; i < 6; ++i) Send(0, 9'000 + i, "a:1:1");
  StreamThread thread(log_, store_, stage_, options_);
  StepFor(thread, milliseconds(1'000));
  for (int i = 0; i < 60; ++i) Send(1, 1'000 + i, "b:1:1");
  StepFor(thread, milliseconds(300));
  others_.Set(900);
  StepFor(thread, milliseconds(300));
  EXPECT_EQ(thread.probe().unloads, 1u);
  Send(0, 9'100, "a:1:1");
  StepFor(thread, *options_.idle_timeout + milliseconds(500));
  others_.Set(0);
  StepFor(thread, milliseconds(200));
  others_.Set(900);
  StepFor(thread, milliseconds(200));
  EXPECT_EQ(thread.probe().unloads, 2u);
  others_.Set(0);
  StepFor(thread, milliseconds(15'000));
  EXPECT_THAT(SortedValues(log_, "eroica.patterns"), ElementsAre("a:1:7", "b:1:60"));
}

// The stages behind must not take its silence for the end.
TEST_F(StreamThreadReadingTest, WhatIsUnloadedIsNotProcessedForTheGroup) {
  Send(0, 1'000, "a:1:5");
  options_.consumer.group_id = "sum";
  options_.progress = std::make_shared<StageProgress>();
  StreamThread thread(log_, store_, stage_, options_);
  StepFor(thread, milliseconds(1'000));
  const auto processed = [this] {
    return (*log_.admin().DescribeGroup("sum", "eroica.events"))[{"eroica.events", 0}].processed;
  };
  EXPECT_EQ(processed(), 1);
  EXPECT_TRUE(options_.progress->caught_up());
  others_.Set(900);
  Send(1, 500, "b:1:1");
  Send(1, 510, "b:1:2");
  StepFor(thread, milliseconds(800));
  EXPECT_GE(thread.probe().unloads, 1u);
  EXPECT_EQ(processed(), 0);
  EXPECT_FALSE(options_.progress->caught_up());
  StepFor(thread, milliseconds(6'000));
  EXPECT_EQ(processed(), 1);
  EXPECT_TRUE(options_.progress->caught_up());
}

}  // namespace
}  // namespace eroica
