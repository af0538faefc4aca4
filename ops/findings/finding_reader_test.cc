#include "ops/findings/finding_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/test_encoder.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class FindingReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        log_.admin()
            .CreateTopic(
                {.name = "eroica.findings", .partitions = 2, .config = {}, .replication_factor = 1})
            .ok());
    producer_ = *log_.NewProducer();
    reader_ = *FindingReader::Open(log_, "eroica");
  }

  void Publish(const std::string& id, FindingState state = FindingState::kOpened) {
    Finding finding;
    finding.id = id;
    finding.job = JobId{"job"};
    finding.state = state;
    const Bytes bytes = encoder_.Encode(finding);
    PublishBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  void PublishBytes(std::string value) {
    ProducerRecord record;
    record.topic = "eroica.findings";
    record.key = "job";
    record.value = std::move(value);
    ASSERT_TRUE(producer_->Append(std::move(record)).ok());
  }
  std::vector<Finding> ReadAll() {
    absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(*reader_);
    EXPECT_TRUE(findings.ok()) << findings.status();
    return findings.value_or(std::vector<Finding>());
  }

  MemoryLog log_;
  TestEncoder encoder_;
  std::unique_ptr<LogProducer> producer_;
  std::unique_ptr<FindingReader> reader_;
};

TEST_F(FindingReaderTest, ReadsInOrderAndEndsAtTheEnd) {
  EXPECT_THAT(ReadAll(), IsEmpty());
  Publish("a");
  Publish("b");
  EXPECT_THAT(ReadAll(), ElementsAre(Field(&Finding::id, "a"), Field(&Finding::id, "b")));
  Publish("c");
  EXPECT_THAT(ReadAll(), ElementsAre(Field(&Finding::id, "c")));
}

TEST_F(FindingReaderTest, SkipsAndCountsWhatIsNoFinding) {
  PublishBytes("");
  PublishBytes("no flatbuffer at all, and longer than any header of one");
  Publish("a");
  EXPECT_THAT(ReadAll(), ElementsAre(Field(&Finding::id, "a")));
  EXPECT_EQ(reader_->malformed(), 2u);
}

TEST(FindingReader, ATopicThatIsNotThereIsAnError) {
  MemoryLog log;
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader = FindingReader::Open(log, "eroica");
  std::vector<Finding> findings;
  EXPECT_FALSE(reader.ok() && (*reader)->Poll(std::chrono::milliseconds(0), &findings).ok());
}

TEST(LatestVersions, LastWordInFirstOrder) {
  Finding a;
  a.id = "a";
  Finding b;
  b.id = "b";
  Finding resolved = a;
  resolved.state = FindingState::kResolved;
  EXPECT_THAT(LatestVersions({a, b, resolved}), ElementsAre(resolved, b));
}

}  // namespace
}  // namespace eroica
