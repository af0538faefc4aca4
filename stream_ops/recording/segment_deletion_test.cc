#include "stream_ops/recording/segment_deletion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stream_ops/recording/partition_reader.h"
#include "stream_ops/recording/partition_writer.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/recording/segment.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The values "0", "1" ..., in segments of two.
void Write(const std::string& directory, int count) {
  auto writer = PartitionWriter::Open(directory, {.segment_bytes = 130});
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = 0; i < count; ++i) {
    ProducerRecord record;
    record.value = std::to_string(i);
    ASSERT_TRUE((*writer)->Append(record).ok());
  }
}

std::vector<std::string> Values(const std::string& directory) {
  RecordedPartitionReader reader(directory, {"t", 0});
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE(reader.Read(1'000, &records).ok());
  std::vector<std::string> values;
  for (const ConsumerRecord& record : records)
    values.push_back(std::to_string(record.offset) + ":" + record.value);
  return values;
}

TEST(SegmentDeletion, BelowAnOffsetGoWholeSegmentsOnly) {
  const ScratchDirectory scratch;
  Write(scratch.path(), 6);
  ASSERT_THAT(*ListSegments(scratch.path()), ElementsAre(0, 2, 4));
  ASSERT_TRUE(DeleteSegmentsBelow(scratch.path(), 1).ok());
  EXPECT_THAT(*ListSegments(scratch.path()), ElementsAre(0, 2, 4));
  ASSERT_TRUE(DeleteSegmentsBelow(scratch.path(), 3).ok());
  EXPECT_THAT(Values(scratch.path()), ElementsAre("2:2", "3:3", "4:4", "5:5"));
}

TEST(SegmentDeletion, TheNewestSegmentStaysSoThatOffsetsGoOn) {
  const ScratchDirectory scratch;
  Write(scratch.path(), 4);
  ASSERT_TRUE(DeleteSegmentsBelow(scratch.path(), 100).ok());
  EXPECT_THAT(*ListSegments(scratch.path()), ElementsAre(2));
  Write(scratch.path(), 1);
  EXPECT_THAT(Values(scratch.path()), ElementsAre("2:2", "3:3", "4:0"));
}

TEST(SegmentDeletion, OfAFolderThatIsNotThereNothingIsDeleted) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(DeleteSegmentsBelow(scratch.path() + "/none", 3).ok());
  EXPECT_TRUE(TruncatePartition(scratch.path() + "/none", 0).ok());
}

TEST(SegmentDeletion, APartitionIsTruncatedToEveryOffsetThatItHad) {
  for (int64_t end = 0; end <= 5; ++end) {
    const ScratchDirectory scratch;
    Write(scratch.path(), 5);
    const absl::Status status = TruncatePartition(scratch.path(), end);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Values(scratch.path()).size(), static_cast<size_t>(end));
    Write(scratch.path(), 1);
    EXPECT_EQ(Values(scratch.path()).back(), std::to_string(end) + ":0");
  }
}

TEST(SegmentDeletion, ATornTailIsTruncatedToo) {
  const ScratchDirectory scratch;
  Write(scratch.path(), 2);
  const std::string path = SegmentPath(scratch.path(), 0);
  WriteBytes(path, ReadBytes(path) + "half an entry");
  ASSERT_TRUE(TruncatePartition(scratch.path(), 2).ok());
  EXPECT_THAT(ReadBytes(path), Not(HasSubstr("half")));
  EXPECT_THAT(Values(scratch.path()), ElementsAre("0:0", "1:1"));
}

TEST(SegmentDeletion, APartitionThatEndsBeforeIsDataLoss) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(absl::IsDataLoss(TruncatePartition(scratch.path(), 1)));
  Write(scratch.path(), 3);
  EXPECT_TRUE(absl::IsDataLoss(TruncatePartition(scratch.path(), 4)));
  EXPECT_EQ(Values(scratch.path()).size(), 3u);
  EXPECT_THAT(*ListSegments(scratch.path() + "/none"), IsEmpty());
}

}  // namespace
}  // namespace eroica
