#include "ops/archive/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/archive/content_digest.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

Manifest Example() {
  Manifest manifest{.complete = true,
                    .eroica_version = "1.2",
                    .created_ms = 5,
                    .source = "kafka here:9092",
                    .job = "night",
                    .from_ms = 3,
                    .to_ms = std::nullopt,
                    .stamped_at_arrival = true,
                    .topics = {},
                    .jobs = {}};
  manifest.topics["eroica.events"] = {
      .partitions = 4,
      .config = {{"retention.ms", "7"}},
      .by_partition = {
          {2, {.first_offset = 10, .last_offset = 20, .records = 9, .bytes = 99, .sha256 = "ab"}}}};
  manifest.jobs["night \x1b[31m"] = {.records = 9, .ranks = 8, .first_ms = 1, .last_ms = 2};
  return manifest;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const ScratchDirectory folder;
  ASSERT_TRUE(WriteManifest(folder.path(), Example()).ok());
  const auto read = ReadManifest(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ(ToJson(**read), ToJson(Example()));
  EXPECT_TRUE(RequireFinished(folder.path()).ok());
}

TEST(Manifest, HoldsNoControlCharacterOfAJob) {
  EXPECT_EQ(ToJson(Example()).find('\x1b'), std::string::npos);
}

TEST(Manifest, ARecordingMayHaveNone) {
  const ScratchDirectory folder;
  const auto read = ReadManifest(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
  EXPECT_TRUE(RequireFinished(folder.path()).ok());
}

TEST(Manifest, AnUnfinishedCopyIsRefused) {
  const ScratchDirectory folder;
  Manifest manifest = Example();
  manifest.complete = false;
  ASSERT_TRUE(WriteManifest(folder.path(), manifest).ok());
  const absl::Status status = RequireFinished(folder.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not finished"));
}

TEST(Manifest, WhatIsDamagedOrOfAnotherVersionIsSaid) {
  const ScratchDirectory folder;
  const std::string path = folder.path() + "/" + kManifestName;
  for (const char* text : {"", "{", "[]", "{\"format\":1}", "{\"format\":1,\"complete\":3}"}) {
    WriteBytes(path, text);
    const absl::Status status = ReadManifest(folder.path()).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << text << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
  WriteBytes(path, "{\"format\":9}");
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadManifest(folder.path()).status()));
}

TEST(ContentDigest, EveryPartOfARecordCountsButItsOffset) {
  const ConsumerRecord record{.topic = "t",
                              .offset = 3,
                              .timestamp_ms = 5,
                              .key = "k",
                              .value = "value",
                              .headers = {{"a", "b"}}};
  const auto of = [](const ConsumerRecord& one) {
    ContentDigest digest;
    digest.Add(one);
    return digest.Finish();
  };
  ConsumerRecord other = record;
  other.offset = 99;
  EXPECT_EQ(of(other), of(record));
  EXPECT_EQ(of(record).size(), 64u);
  other = record;
  other.timestamp_ms = 6;
  EXPECT_NE(of(other), of(record));
  other = record;
  other.headers = {{"ab", ""}};
  EXPECT_NE(of(other), of(record));
  other = record;
  other.key = "kv";
  other.value = "alue";
  EXPECT_NE(of(other), of(record));
}

}  // namespace
}  // namespace eroica
