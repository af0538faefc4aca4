#include "stream_ops/recording/recording_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "stream_ops/log/log_control_conformance.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using testing::HasSubstr;

std::unique_ptr<RecordingLog> OpenLog(const RecordingOptions& options) {
  auto log = RecordingLog::Open(options);
  EXPECT_TRUE(log.ok()) << log.status();
  return *std::move(log);
}

class RecordingUnderTest final : public LogUnderTest {
 public:
  explicit RecordingUnderTest(int64_t segment_bytes)
      : log_(OpenLog({.directory = scratch_.path(), .segment_bytes = segment_bytes})) {}
  Log& log() override { return *log_; }

 private:
  ScratchDirectory scratch_;
  std::unique_ptr<RecordingLog> log_;
};

INSTANTIATE_TEST_SUITE_P(
    Recording, LogConformance,
    testing::Values(
        LogFactory{"Recording", [] { return std::make_unique<RecordingUnderTest>(256 << 20); }, ""},
        LogFactory{"SmallSegments", [] { return std::make_unique<RecordingUnderTest>(300); }, ""}),
    [](const auto& instance) { return instance.param.name; });

absl::Status AppendOne(RecordingLog& log, const std::string& value, int32_t partition = 0) {
  return (*log.NewProducer())->Append(TestRecord("t", value, partition));
}

std::vector<std::string> PollValues(LogConsumer& consumer) {
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE(consumer.Poll(std::chrono::milliseconds(0), 1'000, &records).ok());
  std::vector<std::string> values;
  for (const ConsumerRecord& record : records) values.push_back(record.value);
  return values;
}

TEST(RecordingLog, SurvivesItsProcess) {
  const ScratchDirectory scratch;
  {
    auto log = OpenLog({.directory = scratch.path()});
    ASSERT_TRUE(log->admin()
                    .CreateTopic({.name = "t", .partitions = 2, .config = {{"retention.ms", "5"}}})
                    .ok());
    ASSERT_TRUE(AppendOne(*log, "a").ok());
    auto consumer = log->NewConsumer({.group_id = "g", .group_instance_id = "", .properties = {}});
    ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
    ASSERT_TRUE((*consumer)->Commit({{{"t", 0}, 1}, {{"t", 1}, 0}}).ok());
  }
  auto log = OpenLog({.directory = scratch.path()});
  const auto spec = log->admin().DescribeTopic("t");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->partitions, 2);
  EXPECT_EQ(spec->config.at("retention.ms"), "5");
  ASSERT_TRUE(AppendOne(*log, "b").ok());
  auto consumer = log->NewConsumer({.group_id = "g", .group_instance_id = "", .properties = {}});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  EXPECT_THAT(PollValues(**consumer), testing::ElementsAre("b"));
}

TEST(RecordingLog, AnotherLogReadsWhileThisOneWritesButMayNotWriteTheSamePartition) {
  const ScratchDirectory scratch;
  auto writing = OpenLog({.directory = scratch.path()});
  ASSERT_TRUE(writing->admin().CreateTopic({.name = "t", .partitions = 2, .config = {}}).ok());
  auto other = OpenLog({.directory = scratch.path()});
  auto consumer = other->NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  for (const std::string value : {"a", "b", "c"}) {
    ASSERT_TRUE(AppendOne(*writing, value).ok());
    EXPECT_THAT(PollValues(**consumer), testing::ElementsAre(value));
  }
  const absl::Status refused = AppendOne(*other, "x", 0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another writer"));
  EXPECT_TRUE(AppendOne(*other, "y", 1).ok()) << "each partition has a writer of its own";
}

TEST(RecordingLog, AWaitingConsumerSeesWhatAnotherLogWrites) {
  const ScratchDirectory scratch;
  auto writing = OpenLog({.directory = scratch.path()});
  ASSERT_TRUE(writing->admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).ok());
  auto other = OpenLog({.directory = scratch.path()});
  auto consumer = other->NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  std::thread writer([&] { EXPECT_TRUE(AppendOne(*writing, "a").ok()); });
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE((*consumer)->Poll(std::chrono::hours(1), 1, &records).ok());
  EXPECT_EQ(records.size(), 1u);
  writer.join();
}

// Without the watch it would look again after an hour.
TEST(RecordingLog, AWaitingConsumerIsWokenByWhatAnotherLogWrites) {
  const ScratchDirectory scratch;
  auto writer = OpenLog({.directory = scratch.path()});
  ASSERT_TRUE(writer->admin().CreateTopic({.name = "t", .partitions = 2, .config = {}}).ok());
  ASSERT_TRUE(AppendOne(*writer, "first").ok());
  auto reader = OpenLog({.directory = scratch.path(),
                         .read_only = true,
                         .tail_interval = std::chrono::hours(1),
                         .watch_appends = true});
  auto consumer = *reader->NewConsumer({});
  ASSERT_TRUE(consumer->Subscribe({"t"}, nullptr).ok());
  EXPECT_THAT(PollValues(*consumer), testing::ElementsAre("first"));
  EXPECT_THAT(PollValues(*consumer), testing::IsEmpty());  // at its end, from now on it is watched
  std::thread later([&] { ASSERT_TRUE(AppendOne(*writer, "second").ok()); });
  std::vector<ConsumerRecord> records;
  EXPECT_TRUE(consumer->Poll(std::chrono::seconds(20), 10, &records).ok());
  later.join();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.front().value, "second");
}

TEST(RecordingLog, TellsOfTornAndDamagedBytes) {
  const ScratchDirectory scratch;
  {
    auto log = OpenLog({.directory = scratch.path()});
    ASSERT_TRUE(log->admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).ok());
    ASSERT_TRUE(AppendOne(*log, "a").ok());
  }
  const std::string path = scratch.path() + "/t/0/00000000000000000000.segment";
  WriteBytes(path, ReadBytes(path) + "torn");
  auto log = OpenLog({.directory = scratch.path()});
  auto consumer = log->NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  EXPECT_THAT(PollValues(**consumer), testing::ElementsAre("a"));
  EXPECT_EQ((*consumer)->corrupt_bytes(), 4u);
  ASSERT_TRUE(AppendOne(*log, "b").ok());
  EXPECT_EQ(log->torn_bytes(), 4u);
  EXPECT_THAT(PollValues(**consumer), testing::ElementsAre("b"));
}

TEST(RecordingLog, ReadOnlyWritesNothing) {
  const ScratchDirectory scratch;
  EXPECT_EQ(RecordingLog::Open({.directory = scratch.path() + "/none", .read_only = true})
                .status()
                .code(),
            absl::StatusCode::kNotFound);
  {
    auto log = OpenLog({.directory = scratch.path()});
    ASSERT_TRUE(log->admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).ok());
    ASSERT_TRUE(AppendOne(*log, "a").ok());
  }
  auto log = OpenLog({.directory = scratch.path(), .read_only = true});
  EXPECT_EQ(log->NewProducer().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(log->admin().CreateTopic({.name = "u", .partitions = 1, .config = {}}).code(),
            absl::StatusCode::kFailedPrecondition);
  auto consumer = log->NewConsumer({});
  ASSERT_TRUE((*consumer)->Subscribe({"t"}, nullptr).ok());
  EXPECT_THAT(PollValues(**consumer), testing::ElementsAre("a"));
}

TEST(RecordingLog, NamesThatAreNoFileNamesAreRefused) {
  const ScratchDirectory scratch;
  auto log = OpenLog({.directory = scratch.path()});
  for (const std::string name : {"", ".", "..", "../x", "a/b", "__groups", "a b", "\xff"}) {
    EXPECT_EQ(log->admin().CreateTopic({.name = name, .partitions = 1, .config = {}}).code(),
              absl::StatusCode::kInvalidArgument)
        << name;
    EXPECT_EQ(log->admin().DescribeTopic(name).status().code(), absl::StatusCode::kNotFound)
        << name;
  }
  auto consumer =
      log->NewConsumer({.group_id = "../escape", .group_instance_id = "", .properties = {}});
  EXPECT_EQ((*consumer)->Commit({{{"t", 0}, 1}}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(RecordingLog, WhoLeavesOutThePrefixOfTheTopicsIsShownOne) {
  const ScratchDirectory scratch;
  auto log = OpenLog({.directory = scratch.path()});
  for (const char* name : {"night.findings", "other.findings", "night.events", "events"})
    ASSERT_TRUE(log->admin().CreateTopic({.name = name, .partitions = 1, .config = {}}).ok());
  const auto why = [&](const std::string& name) {
    const absl::Status status = log->admin().DescribeTopic(name).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(why("eroica.findings"),
            "topic eroica.findings does not exist, but night.findings does: give --topic-prefix "
            "night");
  EXPECT_THAT(why("eroica.audit"), HasSubstr("create it first"));
  EXPECT_THAT(why("plain"), HasSubstr("create it first"));
}

TEST(RecordingLog, DamagedSettingsAreNamed) {
  const ScratchDirectory scratch;
  auto log = OpenLog({.directory = scratch.path()});
  ASSERT_TRUE(log->admin().CreateTopic({.name = "t", .partitions = 1, .config = {}}).ok());
  for (const std::string content : {"", "{", "[]", "{\"partitions\": 0}", "{\"partitions\": \"3\"}",
                                    "{\"partitions\": 99999999999}"}) {
    WriteBytes(scratch.path() + "/t/topic.json", content);
    const absl::Status status = log->admin().DescribeTopic("t").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << content;
    EXPECT_THAT(std::string(status.message()), HasSubstr("topic.json is damaged"));
  }
  std::filesystem::create_directories(scratch.path() + "/__groups");
  for (const std::string content :
       {"", "{}", "[1]", "[{\"topic\": 1}]", "[{\"topic\": \"t\", \"partition\": 0}]"}) {
    WriteBytes(scratch.path() + "/__groups/g.json", content);
    auto consumer = log->NewConsumer({.group_id = "g", .group_instance_id = "", .properties = {}});
    EXPECT_EQ((*consumer)->Commit({{{"t", 0}, 1}}).code(), absl::StatusCode::kDataLoss) << content;
  }
}

}  // namespace
}  // namespace eroica
