// Recordings that end within an entry, and what lies under a segment's name without being one.
#include "stream_ops/recording/cut_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/recording/partition_reader.h"
#include "stream_ops/recording/partition_writer.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const TopicPartition kPartition{"events", 0};

// Three entries, in a folder of their own.
class CutEndTest : public ::testing::Test {
 protected:
  CutEndTest() : log_(*RecordingLog::Open({.directory = scratch_.path()})) {
    EXPECT_TRUE(log_->admin().CreateTopic({.name = "events", .partitions = 2, .config = {}}).ok());
    Write(3);
    whole_ = ReadBytes(path());
  }

  void Write(int count) {
    const std::unique_ptr<PartitionWriter> writer = *PartitionWriter::Open(folder(), {});
    for (int i = 0; i < count; ++i) ASSERT_TRUE(writer->Append(Record()).ok());
  }
  static ProducerRecord Record() {
    return {.topic = "events",
            .key = "key",
            .value = "value",
            .headers = {},
            .timestamp_ms = 1'000,
            .partition = 0};
  }
  std::string folder() const { return scratch_.path() + "/events/0"; }
  std::string path() const { return SegmentPath(folder(), 0); }
  int64_t Start(int entry) const {
    const auto size = static_cast<int64_t>(whole_.size() - kSegmentHeaderSize) / 3;
    return static_cast<int64_t>(kSegmentHeaderSize) + entry * size;
  }

  const ScratchDirectory scratch_;
  std::unique_ptr<RecordingLog> log_;
  std::string whole_;
};

TEST_F(CutEndTest, EveryLengthWithinAnEntryIsACutAndNoOther) {
  for (int64_t size = 0; size <= static_cast<int64_t>(whole_.size()); ++size) {
    WriteBytes(path(), whole_.substr(0, static_cast<size_t>(size)));
    const auto end = FindCutEnd(folder(), kPartition);
    ASSERT_TRUE(end.ok()) << end.status();
    const bool at_an_end =
        size == 0 || size == Start(0) || size == Start(1) || size == Start(2) || size == Start(3);
    ASSERT_EQ(end->has_value(), !at_an_end) << size;
    if (at_an_end) continue;
    EXPECT_EQ((*end)->position + (*end)->bytes, size);
    EXPECT_EQ((*end)->position, size < Start(0)   ? 0
                                : size < Start(1) ? Start(0)
                                : size < Start(2) ? Start(1)
                                                  : Start(2));
  }
}

TEST_F(CutEndTest, TheLogNamesSegmentPartitionAndByte) {
  EXPECT_THAT(*log_->CutEnds({"events", "patterns"}), IsEmpty());
  WriteBytes(path(), whole_.substr(0, whole_.size() - 1));
  const std::vector<CutEnd> ends = *log_->CutEnds({"events", "patterns"});
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_THAT(CutEndText(ends[0]),
              AllOf(HasSubstr(path()), HasSubstr("events/0"),
                    HasSubstr("at byte " + std::to_string(Start(2))), HasSubstr("entry is lost")));
}

TEST_F(CutEndTest, WhileAWriterLivesItIsAnEntryThatIsBeingWritten) {
  const std::unique_ptr<PartitionWriter> writer = *PartitionWriter::Open(folder(), {});
  WriteBytes(path(), whole_.substr(0, whole_.size() - 1));
  EXPECT_FALSE(FindCutEnd(folder(), kPartition)->has_value());
}

// Who has read all that is whole asks for the end and reads no further.
TEST_F(CutEndTest, AReaderThatAsksForTheEndCountsTheCutOnce) {
  WriteBytes(path(), whole_.substr(0, whole_.size() - 1));
  RecordedPartitionReader reader(folder(), kPartition);
  std::vector<ConsumerRecord> records;
  ASSERT_TRUE(reader.Read(2, &records).ok());
  EXPECT_EQ(reader.corrupt_bytes(), 0U);
  EXPECT_EQ(*reader.EndOffset(), 2);
  const uint64_t cut = reader.corrupt_bytes();
  EXPECT_EQ(cut, whole_.size() - 1 - static_cast<size_t>(Start(2)));
  EXPECT_EQ(*reader.EndOffset(), 2);
  ASSERT_TRUE(reader.Read(2, &records).ok());
  EXPECT_EQ(reader.corrupt_bytes(), cut);
  EXPECT_THAT(records, SizeIs(2));
}

TEST_F(CutEndTest, APipeUnderASegmentsNameIsAnErrorAtOnce) {
  const std::string pipe = SegmentPath(folder(), 3);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  RecordedPartitionReader reader(folder(), kPartition);
  std::vector<ConsumerRecord> records;
  const absl::Status read = reader.Read(10, &records);
  EXPECT_TRUE(absl::IsFailedPrecondition(read)) << read;
  EXPECT_THAT(std::string(read.message()), AllOf(HasSubstr(pipe), HasSubstr("pipe")));
  EXPECT_TRUE(absl::IsFailedPrecondition(reader.EndOffset().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(FindCutEnd(folder(), kPartition).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(PartitionWriter::Open(folder(), {}).status()));
}

TEST_F(CutEndTest, APipeForTheLockOrTheTopicIsAnErrorAtOnce) {
  std::filesystem::remove(folder() + "/writer.lock");
  ASSERT_EQ(::mkfifo((folder() + "/writer.lock").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(PartitionWriter::Open(folder(), {}).status()));
  const std::string topic = scratch_.path() + "/events/topic.json";
  std::filesystem::remove(topic);
  ASSERT_EQ(::mkfifo(topic.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(log_->admin().DescribeTopic("events").status()));
}

TEST_F(CutEndTest, ATopicFileWithoutAnEndIsNotReadIntoMemory) {
  std::filesystem::resize_file(scratch_.path() + "/events/topic.json", uint64_t{1} << 40);
  EXPECT_TRUE(absl::IsFailedPrecondition(log_->admin().DescribeTopic("events").status()));
}

TEST_F(CutEndTest, ARecordingIsItsOwnersAlone) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.path())) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
}

}  // namespace
}  // namespace eroica
