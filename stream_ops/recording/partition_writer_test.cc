#include "stream_ops/recording/partition_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "stream_ops/recording/partition_reader.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/recording/segment.h"

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ProducerRecord Record(std::string value) {
  return {.topic = "t",
          .key = "k",
          .value = std::move(value),
          .headers = {{"h", "1"}},
          .timestamp_ms = 1'000,
          .partition = 0};
}

std::unique_ptr<PartitionWriter> OpenWriter(const std::string& directory,
                                            const PartitionWriterOptions& options = {}) {
  auto writer = PartitionWriter::Open(directory, options);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

void AppendAll(PartitionWriter& writer, const std::vector<std::string>& values) {
  for (const std::string& value : values) ASSERT_TRUE(writer.Append(Record(value)).ok());
}

std::vector<std::string> ReadValues(const std::string& directory,
                                    uint64_t* corrupt_bytes = nullptr) {
  RecordedPartitionReader reader(directory, {"t", 0});
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE(reader.Read(1'000'000, &records).ok());
  std::vector<std::string> values;
  for (const ConsumerRecord& record : records) values.push_back(record.value);
  if (corrupt_bytes != nullptr) *corrupt_bytes = reader.corrupt_bytes();
  return values;
}

TEST(PartitionWriter, ReopensAndGoesOn) {
  const ScratchDirectory scratch;
  AppendAll(*OpenWriter(scratch.path()), {"a", "b"});
  auto writer = OpenWriter(scratch.path());
  EXPECT_EQ(writer->torn_bytes(), 0);
  AppendAll(*writer, {"c"});
  EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("a", "b", "c"));
}

TEST(PartitionWriter, CutsOffATornTailWhereverItWasTorn) {
  const ScratchDirectory scratch;
  AppendAll(*OpenWriter(scratch.path()), {"a", "b"});
  const std::string path = SegmentPath(scratch.path(), 0);
  const std::string intact = ReadBytes(path);
  AppendAll(*OpenWriter(scratch.path()), {"torn"});
  const std::string whole = ReadBytes(path);
  for (size_t size = intact.size() + 1; size < whole.size(); ++size) {
    WriteBytes(path, whole.substr(0, size));
    uint64_t corrupt_bytes = 0;
    EXPECT_THAT(ReadValues(scratch.path(), &corrupt_bytes), ElementsAre("a", "b")) << size;
    EXPECT_EQ(corrupt_bytes, size - intact.size());
    auto writer = OpenWriter(scratch.path());
    EXPECT_EQ(writer->torn_bytes(), static_cast<int64_t>(size - intact.size()));
    AppendAll(*writer, {"c"});
    EXPECT_THAT(ReadValues(scratch.path(), &corrupt_bytes), ElementsAre("a", "b", "c")) << size;
    EXPECT_EQ(corrupt_bytes, 0u);
  }
}

TEST(PartitionWriter, RepairsASegmentTornInItsHeader) {
  const ScratchDirectory scratch;
  OpenWriter(scratch.path());
  const std::string path = SegmentPath(scratch.path(), 0);
  const std::string header = ReadBytes(path);
  ASSERT_EQ(header.size(), kSegmentHeaderSize);
  for (size_t size = 0; size < header.size(); ++size) {
    WriteBytes(path, header.substr(0, size));
    EXPECT_TRUE(ReadValues(scratch.path()).empty());
    AppendAll(*OpenWriter(scratch.path()), {"a"});
    EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("a")) << size;
  }
}

TEST(PartitionWriter, KeepsWhatLiesBehindDamageInTheMiddle) {
  const ScratchDirectory scratch;
  AppendAll(*OpenWriter(scratch.path()), {"a", "b", "c"});
  const std::string path = SegmentPath(scratch.path(), 0);
  std::string bytes = ReadBytes(path);
  // the size of "a"
  bytes[kSegmentHeaderSize + 5] = static_cast<char>(bytes[kSegmentHeaderSize + 5] ^ 1);
  WriteBytes(path, bytes);
  auto writer = OpenWriter(scratch.path());
  EXPECT_EQ(writer->torn_bytes(), 0);
  AppendAll(*writer, {"d"});
  EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("b", "c", "d"));
}

TEST(PartitionWriter, BeginsANewSegmentWhenOneIsFull) {
  const ScratchDirectory scratch;
  std::vector<std::string> values;
  for (int i = 0; i < 100; ++i) values.push_back(std::to_string(i));
  {
    auto writer = OpenWriter(scratch.path(), {.segment_bytes = 1'000});
    AppendAll(*writer, {values.begin(), values.begin() + 50});
  }
  AppendAll(*OpenWriter(scratch.path(), {.segment_bytes = 1'000}),
            {values.begin() + 50, values.end()});
  const auto bases = ListSegments(scratch.path());
  ASSERT_TRUE(bases.ok());
  EXPECT_GT(bases->size(), 5u);
  for (const int64_t base : *bases)
    EXPECT_LE(ReadBytes(SegmentPath(scratch.path(), base)).size(), 1'000u);
  EXPECT_EQ(ReadValues(scratch.path()), values);
}

TEST(PartitionWriter, AnEntryLargerThanASegmentHasOneOfItsOwn) {
  const ScratchDirectory scratch;
  const std::string large(5'000, 'x');
  AppendAll(*OpenWriter(scratch.path(), {.segment_bytes = 1'000, .compress = false}),
            {"a", large, "b"});
  EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("a", large, "b"));
}

TEST(PartitionWriter, ASecondWriterIsRefused) {
  const ScratchDirectory scratch;
  auto first = OpenWriter(scratch.path());
  const auto second = PartitionWriter::Open(scratch.path(), {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("being recorded by another writer (process " + std::to_string(::getpid())));
  AppendAll(*first, {"a"});
  first.reset();
  AppendAll(*OpenWriter(scratch.path()), {"b"});
  EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("a", "b"));
}

TEST(PartitionWriter, ARecordBeyondTheLimitIsRefusedAndHarmsNothing) {
  const ScratchDirectory scratch;
  auto writer = OpenWriter(scratch.path());
  EXPECT_EQ(writer->Append(Record(std::string(size_t{kMaxEntryBody} + 1, 'x'))).code(),
            absl::StatusCode::kInvalidArgument);
  AppendAll(*writer, {"a"});
  EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("a"));
}

TEST(PartitionWriter, APathThroughAFileIsRefusedWithAdvice) {
  const ScratchDirectory scratch;
  WriteBytes(scratch.path() + "/file", "");
  const auto writer = PartitionWriter::Open(scratch.path() + "/file/0", {});
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("choose another folder"));
}

// Root may write anywhere: as root the test goes on as another user.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() : root_(::geteuid() == 0) {
    if (root_) EROICA_CHECK(::seteuid(65534) == 0);
  }
  ~AsOrdinaryUser() {
    if (root_) EROICA_CHECK(::seteuid(0) == 0);
  }

 private:
  const bool root_;
};

TEST(PartitionWriter, AnUnwritableFolderIsRefusedWithAdvice) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0555), 0);
  absl::Status status;
  {
    const AsOrdinaryUser user;
    status = PartitionWriter::Open(scratch.path() + "/t/0", {}).status();
  }
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("choose a folder that this user may write to"));
}

// The kernel refuses to let a file grow beyond the limit in the middle of a write, just as a full
// disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    EROICA_CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    EROICA_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    EROICA_CHECK(::setrlimit(RLIMIT_FSIZE, &before_) == 0);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(PartitionWriter, AWriteThatFailsHalfWayLeavesNothingAndIsTriedAgain) {
  const ScratchDirectory scratch;
  auto writer = OpenWriter(scratch.path(), {.compress = false});
  AppendAll(*writer, {"a"});
  {
    const FileSizeLimit limit(2'000);
    const absl::Status status = writer->Append(Record(std::string(3'000, 'x')));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("limit on file sizes"));
    uint64_t corrupt_bytes = 0;
    EXPECT_THAT(ReadValues(scratch.path(), &corrupt_bytes), ElementsAre("a"));
    EXPECT_EQ(corrupt_bytes, 0u);
  }
  AppendAll(*writer, {"b"});
  EXPECT_THAT(ReadValues(scratch.path()), ElementsAre("a", "b"));
}

TEST(FileError, SaysWhatToDo) {
  const absl::Status full = FileError(ENOSPC, "write", "/data/x");
  EXPECT_EQ(full.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("/data/x: No space left on device: free some space"));
  EXPECT_EQ(FileError(EROFS, "create", "/x").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(FileError(ENOENT, "open", "/x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FileError(EIO, "read", "/x").code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(FileError(EMFILE, "open", "/x").message()), HasSubstr("ulimit -n"));
}

}  // namespace
}  // namespace eroica
