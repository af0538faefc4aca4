// Slices and their reader, over a recording.
#include "stream_ops/recording/recorded_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecordedSliceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Reopen();
    for (const std::string topic : {"a", "b"})
      ASSERT_TRUE(log_->admin().CreateTopic({.name = topic, .partitions = 2, .config = {}}).ok());
  }

  void Reopen() {
    log_.reset();
    auto log = RecordingLog::Open({.directory = scratch_.path(), .segment_bytes = 200});
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }

  void Append(const std::string& topic, int32_t partition, std::vector<int64_t> times) {
    for (const int64_t time : times) {
      const absl::Status status = (*log_->NewProducer())
                                      ->Append({.topic = topic,
                                                .key = "k",
                                                .value = std::to_string(time),
                                                .headers = {},
                                                .timestamp_ms = time,
                                                .partition = partition});
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  LogSlice Take(const SliceRequest& request) {
    const absl::StatusOr<LogSlice> slice = TakeSlice(*log_, request);
    EXPECT_TRUE(slice.ok()) << slice.status();
    return slice.ok() ? *slice : LogSlice();
  }

  std::unique_ptr<SliceReader> Open(const LogSlice& slice,
                                    const std::map<TopicPartition, int64_t>& positions = {}) {
    absl::StatusOr<std::unique_ptr<SliceReader>> reader =
        SliceReader::Open(slice, positions, ReadersOf(*log_));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  // topic, partition and value of up to so many records.
  static std::vector<std::string> Read(SliceReader& reader, size_t records = 1'000) {
    std::vector<std::string> read;
    while (read.size() < records) {
      const absl::StatusOr<const ConsumerRecord*> next = reader.Next();
      EXPECT_TRUE(next.ok()) << next.status();
      if (!next.ok() || *next == nullptr) break;
      const ConsumerRecord record = reader.Pop();
      read.push_back(record.topic + std::to_string(record.partition) + ":" + record.value);
    }
    return read;
  }

  const ScratchDirectory scratch_;
  std::unique_ptr<RecordingLog> log_;
};

TEST_F(RecordedSliceTest, WhatComesAfterItWasTakenIsNoPartOfIt) {
  Append("a", 0, {1, 2});
  const LogSlice slice = Take({.topics = {"a"}, .from_ms = {}, .to_ms = {}});
  Append("a", 0, {3});
  Append("a", 1, {3});
  EXPECT_EQ(slice.size(), 2);
  EXPECT_THAT(Read(*Open(slice)), ElementsAre("a0:1", "a0:2"));
}

TEST_F(RecordedSliceTest, IsHalfOpenInTime) {
  Append("a", 0, {1, 2, 3, 4});
  Append("a", 1, {2, 4, 5});
  const LogSlice slice = Take({.topics = {"a"}, .from_ms = 2, .to_ms = 4});
  EXPECT_EQ(slice.ranges.at({"a", 0}), (OffsetRange{1, 3}));
  EXPECT_EQ(slice.ranges.at({"a", 1}), (OffsetRange{0, 1}));
  EXPECT_THAT(Read(*Open(slice)), ElementsAre("a0:2", "a1:2", "a0:3"));
}

TEST_F(RecordedSliceTest, OfTimesWithoutRecordsIsEmpty) {
  Append("a", 0, {10, 11});
  for (const auto& [from, to] : {std::pair{0, 5}, std::pair{12, 20}, std::pair{11, 10}}) {
    const LogSlice slice = Take({.topics = {"a"}, .from_ms = from, .to_ms = to});
    EXPECT_EQ(slice.size(), 0) << from;
    EXPECT_THAT(Read(*Open(slice)), IsEmpty());
  }
}

TEST_F(RecordedSliceTest, TopicsThatAreNotThereAreLeftOut) {
  Append("b", 1, {1});
  EXPECT_EQ(Take({.topics = {"none", "b"}, .from_ms = {}, .to_ms = {}}).ranges.size(), 2u);
  EXPECT_TRUE(absl::IsNotFound(
      TakeSlice(*log_, {.topics = {"none"}, .from_ms = {}, .to_ms = {}}).status()));
}

TEST_F(RecordedSliceTest, IsReadInTheOrderOfTimesOverPartitionsAndTopics) {
  Append("a", 0, {1, 4, 5, 9});
  Append("a", 1, {2, 3, 4});
  Append("b", 0, {0, 10});
  const auto reader = Open(Take({.topics = {"a", "b"}, .from_ms = {}, .to_ms = {}}));
  EXPECT_THAT(Read(*reader),
              ElementsAre("b0:0", "a0:1", "a1:2", "a1:3", "a0:4", "a1:4", "a0:5", "a0:9", "b0:10"));
  EXPECT_EQ(reader->done(), 9);
  EXPECT_EQ(reader->missing_records(), 0);
}

TEST_F(RecordedSliceTest, ARecordThatIsStampedEarlyKeepsItsPlaceInThePartition) {
  Append("a", 0, {5, 1, 6});
  Append("a", 1, {3, 5});
  const auto reader = Open(Take({.topics = {"a"}, .from_ms = {}, .to_ms = {}}));
  EXPECT_THAT(Read(*reader, 2), ElementsAre("a1:3", "a0:5"));
  ASSERT_TRUE(reader->Next().ok());
  EXPECT_EQ(reader->next_time_ms(), 5);
  EXPECT_THAT(Read(*reader), ElementsAre("a0:1", "a1:5", "a0:6"));
}

TEST_F(RecordedSliceTest, GoesOnWhereItWasLeftAtAnyPoint) {
  Append("a", 0, {1, 4, 5, 9});
  Append("a", 1, {2, 3, 4});
  const LogSlice slice = Take({.topics = {"a"}, .from_ms = 2, .to_ms = 9});
  const std::vector<std::string> whole = Read(*Open(slice));
  ASSERT_EQ(whole.size(), 5u);
  for (size_t before = 0; before <= whole.size(); ++before) {
    const auto first = Open(slice);
    std::vector<std::string> read = Read(*first, before);
    const auto second = Open(slice, first->positions());
    EXPECT_EQ(second->done(), static_cast<int64_t>(before));
    for (std::string& rest : Read(*second)) read.push_back(std::move(rest));
    EXPECT_EQ(read, whole) << before;
    EXPECT_EQ(Open(slice, second->positions())->done(), slice.size());
  }
}

// As when retention, or a topic that was made anew, sends a reader elsewhere.
TEST_F(RecordedSliceTest, WhatAReaderAnswersBeforeTheSliceIsLeftOut) {
  Append("a", 0, {1, 2, 3, 4});
  const OpenReaders from_the_start = [this](const std::map<TopicPartition, int64_t>& starts) {
    absl::StatusOr<PartitionReaders> readers = ReadersOf(*log_)(starts);
    for (auto& [partition, reader] : *readers) reader->Seek(0);
    return readers;
  };
  const auto reader = SliceReader::Open({.ranges = {{{"a", 0}, {2, 4}}}}, {}, from_the_start);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT(Read(**reader), ElementsAre("a0:3", "a0:4"));
}

TEST_F(RecordedSliceTest, RecordsThatRetentionWasFasterWithAreCounted) {
  Append("a", 0, {1, 2, 3, 4, 5, 6});
  const LogSlice slice = Take({.topics = {"a"}, .from_ms = {}, .to_ms = {}});
  ASSERT_TRUE(log_->DeleteRecords({"a", 0}, 4).ok());
  const auto reader = Open(slice);
  const size_t read = Read(*reader).size();
  EXPECT_LT(read, 6u);
  EXPECT_EQ(reader->missing_records(), static_cast<int64_t>(6 - read));
  EXPECT_EQ(reader->done(), 6);
}

}  // namespace
}  // namespace eroica
