#include "ops/archive/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/recorded_slice.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/recording/segment.h"
#include "stream_ops/runtime/testing/log_reading.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTopic = "eroica.events";

std::unique_ptr<RecordingLog> OpenLog(const std::string& folder) {
  auto log = RecordingLog::Open({.directory = folder, .segment_bytes = 400});
  EXPECT_TRUE(log.ok()) << log.status();
  return *std::move(log);
}

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_ = OpenLog(folder_.path() + "/source");
    ASSERT_TRUE(source_->admin()
                    .CreateTopic({.name = kTopic,
                                  .partitions = 3,
                                  .config = {{"retention.ms", "3600000"}, {"x", "y"}}})
                    .ok());
    for (int64_t i = 0; i < 30; ++i) {
      const bool night = i % 3 != 0;
      Append({.topic = kTopic,
              .key = std::string("key\0", 4),
              .value = "value " + std::to_string(i),
              .headers = {{"job", night ? "night" : "day"},
                          {"rank", std::to_string(i % 4)},
                          {"job", "twice"}},
              .timestamp_ms = 1'000 + i,
              .partition = static_cast<int32_t>(i % 2) * 2});
    }
  }

  void Append(const ProducerRecord& record) {
    const absl::Status status = (*source_->NewProducer())->Append(record);
    ASSERT_TRUE(status.ok()) << status;
  }

  RecordRequest Request(SliceRequest slice = {.topics = {kTopic}, .from_ms = {}, .to_ms = {}}) {
    const absl::StatusOr<LogSlice> taken = TakeSlice(*source_, slice);
    EXPECT_TRUE(taken.ok()) << taken.status();
    RecordRequest request;
    request.slice = *taken;
    request.manifest.source = "a test";
    return request;
  }

  absl::StatusOr<Manifest> Record(RecordRequest request) {
    return RecordIntoFolder(*source_, ReadersOf(*source_), std::move(request), target_);
  }

  absl::Status Verify() {
    return VerifyRecording(target_, [](int64_t, int64_t) { return true; }).status();
  }

  const ScratchDirectory folder_;
  const std::string target_ = folder_.path() + "/target";
  std::unique_ptr<RecordingLog> source_;
};

// All of a record but its offset.
using Content = std::tuple<int32_t, int64_t, std::string, std::string, Headers>;
std::vector<Content> ContentsOf(Log& log, const std::string& topic) {
  std::vector<Content> contents;
  for (ConsumerRecord& record : testing::ReadTopic(log, topic)) {
    contents.emplace_back(record.partition, record.timestamp_ms, record.key, record.value,
                          record.headers);
  }
  return contents;
}

TEST_F(RecorderTest, BytesHeadersTimesAndPartitionsAreUntouchedThereAndBack) {
  const absl::StatusOr<Manifest> manifest = Record(Request());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto target = OpenLog(target_);
  EXPECT_EQ(ContentsOf(*target, kTopic), ContentsOf(*source_, kTopic));
  EXPECT_EQ(target->admin().DescribeTopic(kTopic)->config.at("retention.ms"), "-1");
  EXPECT_EQ(target->admin().DescribeTopic(kTopic)->config.at("x"), "y");

  MemoryLog back;
  RecordRequest request = Request();
  request.slice = *TakeSlice(*target, {.topics = {kTopic}, .from_ms = {}, .to_ms = {}});
  const absl::StatusOr<Manifest> returned =
      RecordIntoTopics(*target, ReadersOf(*target), std::move(request), back,
                       [](const std::string& topic) { return "back-" + topic; });
  ASSERT_TRUE(returned.ok()) << returned.status();
  EXPECT_EQ(ContentsOf(back, std::string("back-") + kTopic), ContentsOf(*source_, kTopic));
}

TEST_F(RecorderTest, TheManifestSaysWhatIsInIt) {
  const absl::StatusOr<Manifest> manifest = Record(Request());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE(manifest->complete);
  const TopicManifest& topic = manifest->topics.at(kTopic);
  EXPECT_EQ(topic.partitions, 3);
  EXPECT_EQ(topic.config.at("retention.ms"), "3600000") << "as the source has it";
  EXPECT_FALSE(topic.by_partition.contains(1)) << "holds nothing";
  EXPECT_EQ(topic.by_partition.at(2).records, 15u);
  EXPECT_EQ(topic.by_partition.at(2).last_offset, 14);
  EXPECT_EQ(manifest->jobs.at("night").records, 20u);
  EXPECT_EQ(manifest->jobs.at("night").ranks, 4u);
  EXPECT_EQ(manifest->jobs.at("day").first_ms, 1'000);
  EXPECT_EQ(manifest->jobs.at("day").last_ms, 1'027);
  EXPECT_EQ(ToJson(**ReadManifest(target_)), ToJson(*manifest));
  EXPECT_TRUE(Verify().ok()) << Verify();
}

TEST_F(RecorderTest, OneJobAndATimeRangeCanBeCutOut) {
  RecordRequest request = Request({.topics = {kTopic}, .from_ms = 1'010, .to_ms = 1'020});
  request.manifest.job = "day";
  const absl::StatusOr<Manifest> manifest = Record(std::move(request));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->jobs.size(), 1u);
  EXPECT_EQ(manifest->jobs.at("day").records, 3u) << "12, 15, 18";
  EXPECT_TRUE(Verify().ok());
}

TEST_F(RecorderTest, AStoppedCopyDoesNotLookWholeAndIsBegunAnew) {
  RecordRequest request = Request();
  request.progress = [](int64_t done) { return done < 10; };
  EXPECT_TRUE(absl::IsCancelled(Record(std::move(request)).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Verify())) << Verify();
  const absl::StatusOr<Manifest> again = Record(Request());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(Verify().ok());
  EXPECT_EQ(ContentsOf(*OpenLog(target_), kTopic), ContentsOf(*source_, kTopic));
}

TEST_F(RecorderTest, AFolderThatHoldsSomethingElseIsLeftAlone) {
  ASSERT_TRUE(Record(Request()).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Record(Request()).status()));
  std::filesystem::remove(target_ + "/" + kManifestName);
  EXPECT_TRUE(absl::IsAlreadyExists(Record(Request()).status())) << "a live recording, perhaps";
}

TEST_F(RecorderTest, WhatDiedBeforeItsFirstManifestIsBegunAnew) {
  std::filesystem::create_directories(target_);
  WriteBytes(target_ + "/" + kManifestName + ".123.0.tmp", "{");
  EXPECT_TRUE(Record(Request()).ok());
  EXPECT_TRUE(Verify().ok());
}

TEST_F(RecorderTest, TruncatedAndDamagedFilesAreNamed) {
  ASSERT_TRUE(Record(Request()).ok());
  const std::string path = SegmentPath(target_ + "/" + kTopic + "/2", 0);
  const std::string bytes = ReadBytes(path);
  std::string damaged = bytes;
  damaged[damaged.size() - 1] = static_cast<char>(damaged[damaged.size() - 1] ^ 1);
  for (const std::string& wrong : {bytes.substr(0, bytes.size() - 1), damaged, std::string()}) {
    WriteBytes(path, wrong);
    const absl::Status status = Verify();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("eroica.events/2 holds"));
  }
  WriteBytes(path, bytes);
  EXPECT_TRUE(Verify().ok());
  std::filesystem::remove_all(target_ + "/" + kTopic);
  EXPECT_FALSE(Verify().ok());
}

TEST_F(RecorderTest, WhatWasAppendedAfterwardsIsNoticed) {
  ASSERT_TRUE(Record(Request()).ok());
  ASSERT_TRUE(
      (*OpenLog(target_)->NewProducer())
          ->Append({.topic = kTopic, .key = "", .value = "x", .headers = {}, .partition = 1})
          .ok());
  const absl::Status status = Verify();
  EXPECT_THAT(std::string(status.message()), HasSubstr("eroica.events/1 holds 1 records"));
}

TEST_F(RecorderTest, WithoutAManifestNothingCanBeVerified) {
  ASSERT_TRUE(Record(Request()).ok());
  std::filesystem::remove(target_ + "/" + kManifestName);
  EXPECT_TRUE(absl::IsNotFound(Verify())) << Verify();
}

TEST_F(RecorderTest, ATopicWithFewerPartitionsIsRefusedBeforeAnythingIsCopied) {
  MemoryLog target;
  ASSERT_TRUE(target.admin().CreateTopic({.name = kTopic, .partitions = 2, .config = {}}).ok());
  const absl::StatusOr<Manifest> manifest =
      RecordIntoTopics(*source_, ReadersOf(*source_), Request(), target,
                       [](const std::string& topic) { return topic; });
  EXPECT_TRUE(absl::IsFailedPrecondition(manifest.status())) << manifest.status();
  EXPECT_THAT(std::string(manifest.status().message()), HasSubstr("has 2 partitions"));
  EXPECT_TRUE(testing::ReadTopic(target, kTopic).empty());
}

TEST_F(RecorderTest, ADamagedSourceIsNoWholeCopy) {
  source_.reset();
  const std::string path = SegmentPath(folder_.path() + "/source/" + kTopic + "/0", 0);
  std::string bytes = ReadBytes(path);
  bytes[80] = static_cast<char>(bytes[80] ^ 1);
  WriteBytes(path, bytes);
  source_ = OpenLog(folder_.path() + "/source");
  EXPECT_TRUE(absl::IsDataLoss(Record(Request()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Verify()));
}

}  // namespace
}  // namespace eroica
