#include "stream_ops/runtime/changelog_restorer.h"

#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/changelog.h"
#include "stream_ops/runtime/testing/faulty_log.h"

namespace eroica {
namespace {

constexpr ChangelogWriter kFormer{.epoch = 1, .id = 0xa};
const TopicPartition kInput{"t.events", 0};

class ChangelogRestorerTest : public ::testing::Test {
 protected:
  ChangelogRestorerTest() {
    EXPECT_TRUE(log_.admin().CreateTopic({.name = topic_, .partitions = 1}).ok());
  }

  void Commit(std::string_view row, std::string_view value) {
    const ChangelogRecords records(topic_, 0, kFormer, 100'000);
    std::vector<ProducerRecord> made;
    records.Put(RowName(Table::kProgress, row), value, 0, &made);
    made.push_back(records.Committed({.restart = 5, .processed = 7}));
    auto producer = log_.NewProducer();
    for (ProducerRecord& record : made) EXPECT_TRUE((*producer)->Append(std::move(record)).ok());
    EXPECT_TRUE((*producer)->Flush(std::chrono::seconds(1)).ok());
  }
  ChangelogRestorer::Restored StepUntilDone(ChangelogRestorer* restorer) {
    ChangelogRestorer::Restored all;
    while (!restorer->done()) {
      auto restored = restorer->Step(now_, std::chrono::milliseconds(1));
      EXPECT_TRUE(restored.ok()) << restored.status();
      if (!restored.ok()) break;
      for (auto& task : *restored) all.push_back(std::move(task));
    }
    return all;
  }

  const std::string topic_ = ChangelogTopic("t", "sum");
  MemoryLog log_;
  InMemoryStore store_;
  ChangelogRestorer::TimePoint now_;
};

TEST_F(ChangelogRestorerTest, BringsTheStoreUpToTheChangelog) {
  Commit("a", "1");
  Commit("a", "2");
  ChangelogRestorer restorer(log_, store_, "sum", topic_, 0xb);
  restorer.Start(kInput);
  const ChangelogRestorer::Restored restored = StepUntilDone(&restorer);
  ASSERT_EQ(restored.size(), 1u);
  EXPECT_EQ(restored[0].first, kInput);
  EXPECT_EQ(restored[0].second.begin, 4);
  EXPECT_EQ(*TaskStore(&store_, TaskId{"sum", kInput}.ToString()).Get(Table::kProgress, "a"), "2");
}

// Its own node writes on to what was restored: to fetch that as well is of use to nobody, and fills
// the memory.
TEST_F(ChangelogRestorerTest, WhatIsRestoredIsFetchedNoLonger) {
  Commit("a", "1");
  ChangelogRestorer restorer(log_, store_, "sum", topic_, 0xb);
  EXPECT_FALSE(restorer.reading());
  restorer.Start(kInput);
  StepUntilDone(&restorer);
  EXPECT_TRUE(restorer.reading());
  ASSERT_TRUE(restorer.Step(now_, std::chrono::milliseconds(1)).ok());
  EXPECT_FALSE(restorer.reading());
  EXPECT_EQ(*restorer.CommittedEnd(0), 2);

  Commit("a", "3");
  restorer.Start(kInput);  // the task comes to us once more
  EXPECT_EQ(StepUntilDone(&restorer).size(), 1u);
  EXPECT_EQ(*TaskStore(&store_, TaskId{"sum", kInput}.ToString()).Get(Table::kProgress, "a"), "3");
}

// As a client that has lost its fetch of a partition.
TEST_F(ChangelogRestorerTest, AReaderThatStandsStillIsOpenedAnew) {
  Commit("a", "1");
  testing::FaultyLog faulty(log_);
  ChangelogRestorer restorer(faulty, store_, "sum", topic_, 0xb);
  restorer.Start(kInput);
  const auto step_for = [&](std::chrono::seconds time) {
    for (const auto end = now_ + time; now_ < end; now_ += std::chrono::seconds(1)) {
      const auto restored = restorer.Step(now_, std::chrono::milliseconds(1));
      EXPECT_TRUE(restored.ok()) << restored.status();
    }
    return restorer.done();
  };
  faulty.consumers_silent = 2;  // that of ends, which is asked for ends alone, and the reader
  EXPECT_FALSE(step_for(std::chrono::seconds(30)));
  EXPECT_TRUE(step_for(std::chrono::seconds(3)));
  EXPECT_EQ(*TaskStore(&store_, TaskId{"sum", kInput}.ToString()).Get(Table::kProgress, "a"), "1");
}

TEST_F(ChangelogRestorerTest, AMissingChangelogIsAnErrorThatMayBeTriedAgain) {
  ChangelogRestorer restorer(log_, store_, "align", ChangelogTopic("t", "align"), 0xb);
  restorer.Start({"t.collectives", 0});
  EXPECT_EQ(restorer.Step(now_, std::chrono::milliseconds(1)).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(
      log_.admin().CreateTopic({.name = ChangelogTopic("t", "align"), .partitions = 1}).ok());
  EXPECT_EQ(StepUntilDone(&restorer).size(), 1u);
}

}  // namespace
}  // namespace eroica
