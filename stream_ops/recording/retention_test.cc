// Retention of a recording: old segments go, and who is behind goes on with what is left.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/recording/recording_log.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/recording/segment.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kHourMs = 3'600'000;
// Two of the records that MustAppend writes.
constexpr int64_t kSegmentBytes = 150;

std::unique_ptr<RecordingLog> OpenLog(const std::string& directory) {
  auto log = RecordingLog::Open({.directory = directory, .segment_bytes = kSegmentBytes});
  EXPECT_TRUE(log.ok()) << log.status();
  return *std::move(log);
}

void MakeTopic(RecordingLog& log, const std::string& retention_ms) {
  ASSERT_TRUE(
      log.admin().CreateTopic({.name = "t", .config = {{"retention.ms", retention_ms}}}).ok());
}

void MustAppend(RecordingLog& log, const std::string& value) {
  const absl::Status status =
      (*log.NewProducer())->Append({.topic = "t", .key = "k", .value = value, .headers = {}});
  ASSERT_TRUE(status.ok()) << status;
}

void MustAppendAll(RecordingLog& log, const std::vector<std::string>& values) {
  for (const std::string& value : values) MustAppend(log, value);
}

std::string PartitionOf(const ScratchDirectory& scratch) { return scratch.path() + "/t/0"; }

// As if these segments had been written two hours ago.
void Age(const ScratchDirectory& scratch, const std::vector<int64_t>& bases) {
  for (const int64_t base : bases) {
    std::filesystem::last_write_time(
        SegmentPath(PartitionOf(scratch), base),
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
}

std::vector<std::string> Poll(LogConsumer& consumer, size_t records_max) {
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE(consumer.Poll(std::chrono::milliseconds(0), records_max, &records).ok());
  std::vector<std::string> values;
  for (const ConsumerRecord& record : records) values.push_back(record.value);
  return values;
}

std::unique_ptr<LogConsumer> NewConsumer(RecordingLog& log) {
  auto consumer = log.NewConsumer({});
  EXPECT_TRUE(consumer.ok() && (*consumer)->Subscribe({"t"}, nullptr).ok());
  return *std::move(consumer);
}

// Nanoseconds in 64 bits end with the year 2262, and hold 292 years.
TEST(Retention, WhatWasWrittenInTheFarFutureOrIsKeptForLongerThanTimeStays) {
  constexpr timespec kYear2400 = {.tv_sec = 13'569'465'600, .tv_nsec = 0};
  const timespec times[] = {kYear2400, kYear2400};
  for (const std::string retention_ms : {"3600000", "9223372036854775807"}) {
    const ScratchDirectory scratch;
    const auto log = OpenLog(scratch.path());
    MakeTopic(*log, retention_ms);
    MustAppendAll(*log, {"0", "1", "2", "3", "4", "5"});
    const std::string oldest = SegmentPath(PartitionOf(scratch), 0);
    ASSERT_EQ(::utimensat(AT_FDCWD, oldest.c_str(), times, 0), 0);
    MustAppend(*log, "6");
    EXPECT_THAT(*ListSegments(PartitionOf(scratch)), ElementsAre(0, 2, 4, 6)) << retention_ms;
  }
}

TEST(Retention, OldSegmentsGoWhenASegmentIsBegun) {
  const ScratchDirectory scratch;
  const auto log = OpenLog(scratch.path());
  MakeTopic(*log, std::to_string(kHourMs));
  MustAppendAll(*log, {"0", "1", "2", "3", "4", "5"});
  ASSERT_THAT(*ListSegments(PartitionOf(scratch)), ElementsAre(0, 2, 4));
  Age(scratch, {0, 2});
  MustAppend(*log, "6");
  EXPECT_THAT(*ListSegments(PartitionOf(scratch)), ElementsAre(4, 6));
  EXPECT_THAT(Poll(*NewConsumer(*log), 100), ElementsAre("4", "5", "6"));
}

TEST(Retention, OldSegmentsGoWhenTheWriterIsOpened) {
  const ScratchDirectory scratch;
  {
    const auto log = OpenLog(scratch.path());
    MakeTopic(*log, std::to_string(kHourMs));
    MustAppendAll(*log, {"0", "1", "2"});
  }
  Age(scratch, {0, 2});
  const auto log = OpenLog(scratch.path());
  MustAppend(*log, "3");
  EXPECT_THAT(Poll(*NewConsumer(*log), 100), ElementsAre("2", "3"))
      << "the newest segment stays, whatever its age";
}

TEST(Retention, ASegmentIsEndedByItsAgeToo) {
  const ScratchDirectory scratch;
  const auto log = OpenLog(scratch.path());
  MakeTopic(*log, "0");
  MustAppendAll(*log, {"0", "1", "2"});
  EXPECT_THAT(*ListSegments(PartitionOf(scratch)), ElementsAre(2));
}

TEST(Retention, WithoutOneOrWithMinusOneEverythingStays) {
  for (const std::string retention : {"", "-1", "no number"}) {
    const ScratchDirectory scratch;
    const auto log = OpenLog(scratch.path());
    MakeTopic(*log, retention);
    MustAppendAll(*log, {"0", "1", "2"});
    Age(scratch, {0, 2});
    MustAppendAll(*log, {"3", "4"});
    EXPECT_THAT(Poll(*NewConsumer(*log), 100), ElementsAre("0", "1", "2", "3", "4")) << retention;
  }
}

TEST(Retention, WhoIsInTheMiddleOfASegmentReadsItToItsEndAndGoesOnWithWhatIsLeft) {
  const ScratchDirectory scratch;
  const auto log = OpenLog(scratch.path());
  MakeTopic(*log, std::to_string(kHourMs));
  MustAppendAll(*log, {"0", "1", "2", "3", "4", "5"});
  const auto reader = NewConsumer(*log);
  ASSERT_THAT(Poll(*reader, 1), ElementsAre("0"));
  Age(scratch, {0, 2});
  MustAppend(*log, "6");
  EXPECT_THAT(Poll(*reader, 100), ElementsAre("1", "4", "5", "6"));
  EXPECT_EQ(*reader->Position({"t", 0}), 7);
}

TEST(Retention, WhoComesBackBehindTheOldestRecordGoesOnWithIt) {
  const ScratchDirectory scratch;
  const auto log = OpenLog(scratch.path());
  MakeTopic(*log, std::to_string(kHourMs));
  MustAppendAll(*log, {"0", "1", "2", "3", "4", "5"});
  Age(scratch, {0, 2});
  MustAppend(*log, "6");
  const auto reader = NewConsumer(*log);
  ASSERT_TRUE(Poll(*reader, 0).empty());
  ASSERT_TRUE(reader->Seek({"t", 0}, 1).ok());
  EXPECT_THAT(Poll(*reader, 1), ElementsAre("4"));
  EXPECT_EQ(*reader->OffsetForTime({"t", 0}, 0), 4);
}

TEST(Retention, RecordsBelowAnOffsetCanBeDeletedAndATopicWithAllOfThem) {
  const ScratchDirectory scratch;
  const auto log = OpenLog(scratch.path());
  MakeTopic(*log, "-1");
  MustAppendAll(*log, {"0", "1", "2", "3"});
  ASSERT_TRUE(log->DeleteRecords({"t", 0}, 3).ok());
  EXPECT_THAT(Poll(*NewConsumer(*log), 100), ElementsAre("2", "3"));
  ASSERT_TRUE(log->DeleteTopic("t").ok());
  EXPECT_TRUE(absl::IsNotFound(log->admin().DescribeTopic("t").status()));
  EXPECT_TRUE(log->DeleteTopic("t").ok());
  MakeTopic(*log, "-1");
  MustAppend(*log, "anew");
  EXPECT_THAT(Poll(*NewConsumer(*log), 100), ElementsAre("anew"));
}

TEST(Retention, OnlyWhatNobodyHereWritesIsTruncated) {
  const ScratchDirectory scratch;
  {
    const auto log = OpenLog(scratch.path());
    MakeTopic(*log, "-1");
    MustAppendAll(*log, {"0", "1", "2"});
    EXPECT_TRUE(absl::IsFailedPrecondition(log->Truncate({"t", 0}, 1)));
  }
  const auto log = OpenLog(scratch.path());
  ASSERT_TRUE(log->Truncate({"t", 0}, 1).ok());
  MustAppend(*log, "again");
  EXPECT_THAT(Poll(*NewConsumer(*log), 100), ElementsAre("0", "again"));
}

}  // namespace
}  // namespace eroica
