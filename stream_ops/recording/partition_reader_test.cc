#include "stream_ops/recording/partition_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "stream_ops/recording/partition_writer.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using testing::ElementsAre;

std::unique_ptr<PartitionWriter> OpenSegmentedWriter(const std::string& directory,
                                                     int64_t segment_bytes = 1 << 20) {
  auto writer = PartitionWriter::Open(directory, {.segment_bytes = segment_bytes});
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

void Append(PartitionWriter& writer, int first, int end) {
  for (int i = first; i < end; ++i) {
    ASSERT_TRUE(writer
                    .Append({.topic = "t",
                             .key = "key",
                             .value = "value " + std::to_string(i),
                             .headers = {{"h", "1"}},
                             .timestamp_ms = 1'000 + i,
                             .partition = 0})
                    .ok());
  }
}

std::vector<int64_t> ReadOffsets(RecordedPartitionReader& reader, size_t max = 1'000'000) {
  std::vector<ConsumerRecord> records;
  const absl::Status status = reader.Read(max, &records);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<int64_t> offsets;
  for (const ConsumerRecord& record : records) {
    EXPECT_EQ(record.value, "value " + std::to_string(record.offset));
    offsets.push_back(record.offset);
  }
  return offsets;
}

std::string FlipBit(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

TEST(RecordedPartitionReader, AFolderThatHasRestedEmptyIsReadOnceItHoldsASegment) {
  const ScratchDirectory scratch;
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(scratch.path(), long_ago);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  for (int look = 0; look < 3; ++look) EXPECT_TRUE(ReadOffsets(reader).empty());
  Append(*OpenSegmentedWriter(scratch.path()), 0, 2);
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(0, 1));
}

TEST(RecordedPartitionReader, AFolderThatWasMissingIsReadSoonAfterItIsThere) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/late";
  RecordedPartitionReader reader(folder, {"t", 0});
  EXPECT_TRUE(ReadOffsets(reader).empty());
  Append(*OpenSegmentedWriter(folder), 0, 2);
  std::vector<int64_t> offsets;
  while (offsets.empty()) offsets = ReadOffsets(reader);
  EXPECT_THAT(offsets, ElementsAre(0, 1));
}

TEST(RecordedPartitionReader, APartitionThatIsAddedToATopicThatHasRestedIsRead) {
  const ScratchDirectory scratch;
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(scratch.path(), long_ago);
  RecordedPartitionReader reader(scratch.path() + "/late", {"t", 0});
  for (int look = 0; look < 3; ++look) EXPECT_TRUE(ReadOffsets(reader).empty());
  Append(*OpenSegmentedWriter(scratch.path() + "/late"), 0, 2);
  std::vector<int64_t> offsets;
  while (offsets.empty()) offsets = ReadOffsets(reader);
  EXPECT_THAT(offsets, ElementsAre(0, 1));
}

TEST(RecordedPartitionReader, AFolderThatWasMissingIsReadAtOnceByWhoKnowsItsEnd) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/late";
  RecordedPartitionReader reader(folder, {"t", 0});
  EXPECT_TRUE(ReadOffsets(reader).empty());
  Append(*OpenSegmentedWriter(folder), 0, 2);
  EXPECT_EQ(*reader.EndOffset(), 2);
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(0, 1));
}

TEST(RecordedPartitionReader, AFlippedBitCostsOneEntryAndIsCounted) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path()), 0, 3);
  const std::string path = SegmentPath(scratch.path(), 0);
  const std::string intact = ReadBytes(path);
  const size_t entry_size = (intact.size() - kSegmentHeaderSize) / 3;
  for (size_t bit = 0; bit < intact.size() * 8; ++bit) {
    WriteBytes(path, FlipBit(intact, bit));
    RecordedPartitionReader reader(scratch.path(), {"t", 0});
    const std::vector<int64_t> offsets = ReadOffsets(reader);
    const size_t byte = bit / 8;
    if (byte < kSegmentHeaderSize) {
      EXPECT_THAT(offsets, ElementsAre(0, 1, 2)) << "bit " << bit;
      EXPECT_EQ(reader.corrupt_bytes(), kSegmentHeaderSize);
    } else {
      std::vector<int64_t> expected{0, 1, 2};
      expected.erase(expected.begin() +
                     static_cast<ptrdiff_t>((byte - kSegmentHeaderSize) / entry_size));
      EXPECT_EQ(offsets, expected) << "bit " << bit;
      EXPECT_EQ(reader.corrupt_bytes(), entry_size) << "bit " << bit;
      // Behind the last entry nobody knows whether it was one.
      const auto lost = static_cast<int64_t>((byte - kSegmentHeaderSize) / entry_size);
      const std::vector<DamagedRange> damaged = reader.TakeDamaged();
      if (lost < 2 || !damaged.empty()) {
        ASSERT_EQ(damaged.size(), 1u) << "bit " << bit;
        EXPECT_EQ(damaged[0].begin, lost) << "bit " << bit;
        EXPECT_EQ(damaged[0].end, lost + 1) << "bit " << bit;
      }
      EXPECT_TRUE(reader.TakeDamaged().empty());
    }
    // A bounded run ends where all that can be read is read, and counts nothing twice.
    EXPECT_EQ(reader.position(), *reader.EndOffset()) << "bit " << bit;
    const uint64_t counted = reader.corrupt_bytes();
    EXPECT_TRUE(ReadOffsets(reader).empty());
    EXPECT_EQ(reader.corrupt_bytes(), counted);
  }
}

TEST(RecordedPartitionReader, ADamagedStretchAcrossEntriesLosesOnlyThose) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path()), 0, 100);
  const std::string path = SegmentPath(scratch.path(), 0);
  std::string bytes = ReadBytes(path);
  const size_t from = bytes.size() / 4;
  std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(from), bytes.size() / 4,
              '\xe5');  // the first byte of the marker
  WriteBytes(path, bytes);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  const std::vector<int64_t> offsets = ReadOffsets(reader);
  EXPECT_GT(offsets.size(), 70u);
  EXPECT_LT(offsets.size(), 76u);
  EXPECT_EQ(offsets.back(), 99);
  EXPECT_GE(reader.corrupt_bytes(), bytes.size() / 4);
}

TEST(RecordedPartitionReader, FollowsAWriterThroughItsSegments) {
  const ScratchDirectory scratch;
  auto writer = OpenSegmentedWriter(scratch.path(), 500);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  for (int i = 0; i < 50; ++i) {
    Append(*writer, i, i + 1);
    EXPECT_EQ(*reader.EndOffset(), i + 1);
    EXPECT_THAT(ReadOffsets(reader), ElementsAre(i));
    EXPECT_TRUE(ReadOffsets(reader).empty());
  }
  EXPECT_GT(ListSegments(scratch.path())->size(), 5u);
}

TEST(RecordedPartitionReader, NeverShowsAHalfWrittenEntry) {
  const ScratchDirectory scratch;
  auto writer = OpenSegmentedWriter(scratch.path());
  Append(*writer, 0, 2);
  const std::string path = SegmentPath(scratch.path(), 0);
  const std::string whole = ReadBytes(path);
  const size_t second = kSegmentHeaderSize + (whole.size() - kSegmentHeaderSize) / 2;
  WriteBytes(path, whole.substr(0, second));
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(0));
  for (size_t size = second + 1; size < whole.size(); ++size) {
    WriteBytes(path, whole.substr(0, size));
    EXPECT_TRUE(ReadOffsets(reader).empty()) << size;
    EXPECT_EQ(*reader.EndOffset(), 1) << size;
  }
  WriteBytes(path, whole);
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(1));
  EXPECT_EQ(reader.corrupt_bytes(), 0u) << "the writer lives: what was not there yet is no damage";
}

TEST(RecordedPartitionReader, FollowsAWriterThatCrashedAndCameBack) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path()), 0, 3);
  const std::string path = SegmentPath(scratch.path(), 0);
  const std::string bytes = ReadBytes(path);
  WriteBytes(path, bytes.substr(0, bytes.size() - 1));
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(0, 1));
  EXPECT_GT(reader.corrupt_bytes(), 0u);
  const uint64_t torn = reader.corrupt_bytes();
  Append(*OpenSegmentedWriter(scratch.path()), 2, 5);
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(2, 3, 4));
  EXPECT_EQ(reader.corrupt_bytes(), torn);
}

TEST(RecordedPartitionReader, SeeksAcrossSegments) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path(), 500), 0, 50);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  for (const int64_t offset : {49, 0, 25, 7, 8}) {
    reader.Seek(offset);
    EXPECT_EQ(reader.position(), offset);
    EXPECT_THAT(ReadOffsets(reader, 1), ElementsAre(offset));
  }
  reader.Seek(50);
  EXPECT_TRUE(ReadOffsets(reader).empty());
  EXPECT_EQ(reader.position(), 50);
}

// As a recording of yesterday is read.
TEST(RecordedPartitionReader, AFolderThatHasRestedIsReadThroughAllItsSegments) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path(), 500), 0, 50);
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(scratch.path(), long_ago);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  EXPECT_EQ(ReadOffsets(reader).size(), 50u);
  reader.Seek(48);
  EXPECT_THAT(ReadOffsets(reader), ElementsAre(48, 49));
}

TEST(RecordedPartitionReader, StartsWhereTheOldestSegmentStarts) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path(), 500), 0, 50);
  const std::vector<int64_t> bases = *ListSegments(scratch.path());
  std::filesystem::remove(SegmentPath(scratch.path(), bases[0]));
  std::filesystem::remove(SegmentPath(scratch.path(), bases[2]));
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  std::vector<int64_t> expected;
  for (int64_t offset = bases[1]; offset < 50; ++offset) {
    if (offset < bases[2] || offset >= bases[3]) expected.push_back(offset);
  }
  EXPECT_EQ(ReadOffsets(reader), expected) << "and a hole in the middle is stepped over";
}

TEST(RecordedPartitionReader, FindsOffsetsByTimeAcrossSegments) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path(), 500), 0, 50);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  EXPECT_EQ(*reader.OffsetForTime(0), 0);
  EXPECT_EQ(*reader.OffsetForTime(1'030), 30);
  EXPECT_EQ(*reader.OffsetForTime(1'050), 50);
}

TEST(RecordedPartitionReader, ASegmentOfAnotherVersionIsRefused) {
  const ScratchDirectory scratch;
  Append(*OpenSegmentedWriter(scratch.path()), 0, 1);
  const std::string path = SegmentPath(scratch.path(), 0);
  std::string bytes = ReadBytes(path);
  // The header of a later version with its checksum in order; made as version 1 makes it, with the
  // version changed.
  bytes.replace(0, kSegmentHeaderSize, EncodeSegmentHeader(0, 2));
  WriteBytes(path, bytes);
  RecordedPartitionReader reader(scratch.path(), {"t", 0});
  std::vector<ConsumerRecord> records;
  const absl::Status status = reader.Read(1, &records);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("format version 2"));
  EXPECT_EQ(PartitionWriter::Open(scratch.path(), {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RecordedPartitionReader, APartitionThatNobodyHasWrittenIsEmpty) {
  const ScratchDirectory scratch;
  RecordedPartitionReader reader(scratch.path() + "/none", {"t", 0});
  EXPECT_TRUE(ReadOffsets(reader).empty());
  EXPECT_EQ(*reader.EndOffset(), 0);
  EXPECT_EQ(*reader.OffsetForTime(5), 0);
}

}  // namespace
}  // namespace eroica
