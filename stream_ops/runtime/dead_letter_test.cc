#include "stream_ops/runtime/dead_letter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/stream_task.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using testing::FaultyLog;
using ::testing::Pair;
using testing::ReadTopic;
using testing::WindowSum;

const std::string kBytes("no\0 record\xff", 11);

// What a stage makes of a record that it cannot use.
class DeadLetterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* topic : {"eroica.patterns", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 1, {}, 1}).ok());
  }

  ConsumerRecord Refused(Headers headers) {
    StreamTask task({"sum", {"eroica.events", 3}}, StreamTaskOptions{},
                    std::make_unique<WindowSum>(Topic::kPatterns), store_, &probe_);
    EXPECT_TRUE(task.Init().ok());
    EXPECT_TRUE(
        task.Process({"eroica.events", 3, 41, 17, "night/0", kBytes, std::move(headers)}).ok());
    const std::unique_ptr<LogProducer> producer = *log_.NewProducer();
    EXPECT_TRUE(task.SendOutputs(*producer).ok());
    EXPECT_TRUE(producer->Flush(std::chrono::seconds(1)).ok());
    return ReadTopic(log_, "eroica.deadletter").back();
  }

  MemoryLog inner_log_;
  FaultyLog log_{inner_log_};
  InMemoryStore store_;
  StageProbe probe_;
};

TEST_F(DeadLetterTest, SaysWhichRecordWasRefusedAndWhy) {
  const auto letter = ReadDeadLetter(Refused({{"schema", "EVB1"}, {"job", "night"}}));
  ASSERT_TRUE(letter.has_value());
  EXPECT_EQ(letter->source, (TopicPartition{"eroica.events", 3}));
  EXPECT_EQ(letter->offset, 41);
  EXPECT_EQ(letter->reason, "malformed_event");
  EXPECT_EQ(letter->stage, "sum");
  EXPECT_EQ(letter->job, "night");
  EXPECT_EQ(letter->value_bytes, kBytes.size());
  EXPECT_FALSE(letter->cut);
  EXPECT_EQ(letter->resend_of, "");
}

TEST_F(DeadLetterTest, IsSentBackAsItWas) {
  const auto letter = ReadDeadLetter(Refused({{"schema", "EVB1"}, {"job", "night"}}));
  ASSERT_TRUE(letter.has_value());
  const ProducerRecord record = ResendOf(*letter).value();
  EXPECT_EQ(record.topic, "eroica.events");
  EXPECT_EQ(record.key, "night/0");
  EXPECT_EQ(record.value, kBytes);
  EXPECT_EQ(record.partition, std::nullopt) << "the key decides";
  EXPECT_THAT(record.headers, ElementsAre(Pair("schema", "EVB1"), Pair("job", "night"),
                                          Pair("resend-of", "eroica.events/3/41")));
}

TEST_F(DeadLetterTest, WithoutAKeyGoesToThePartitionThatItCameFrom) {
  ConsumerRecord record = Refused({});
  record.key.clear();
  EXPECT_EQ(ResendOf(ReadDeadLetter(record).value())->partition, 3);
}

// A resend that is refused again: it is known as one, and its next resend names the newer position.
TEST_F(DeadLetterTest, KnowsThatItWasSentBackBefore) {
  const auto letter = ReadDeadLetter(Refused({{"resend-of", "eroica.events/0/7"}}));
  ASSERT_TRUE(letter.has_value());
  EXPECT_EQ(letter->resend_of, "eroica.events/0/7");
  EXPECT_THAT(ResendOf(*letter)->headers, ElementsAre(Pair("resend-of", "eroica.events/3/41")));
}

// Whoever may write to the events topic could otherwise choose where a resend goes.
TEST_F(DeadLetterTest, BelievesNoHeaderThatTheRecordBroughtAlong) {
  const auto letter = ReadDeadLetter(Refused({{"dead-letter-topic", "eroica.control"},
                                              {"dead-letter-partition", "99"},
                                              {"dead-letter-offset", "1"},
                                              {"dead-letter-reason", "fun"},
                                              {"dead-letter-cut", "1000000"}}));
  ASSERT_TRUE(letter.has_value());
  EXPECT_EQ(letter->source, (TopicPartition{"eroica.events", 3}));
  EXPECT_EQ(letter->offset, 41);
  EXPECT_EQ(letter->reason, "malformed_event");
  EXPECT_FALSE(letter->cut);
  EXPECT_EQ(letter->value_bytes, kBytes.size());
  EXPECT_THAT(ResendOf(*letter)->headers, ElementsAre(Pair("resend-of", "eroica.events/3/41")));
}

TEST_F(DeadLetterTest, AMarkSaysThatItWasSentBack) {
  const auto letter = ReadDeadLetter(Refused({{"dead-letter-resent", "eroica.events/3/1"}}));
  ASSERT_TRUE(letter.has_value());
  EXPECT_EQ(ResentPosition(letter->record), std::nullopt) << "the record's own word";
  EXPECT_EQ(ResentPosition(Refused({{"resend-of", "eroica.events/0/7"}})), std::nullopt);
  const ProducerRecord mark = ResentMark(*letter);
  EXPECT_EQ(mark.topic, "eroica.deadletter");
  const ConsumerRecord read{.key = mark.key, .value = mark.value, .headers = mark.headers};
  EXPECT_EQ(ResentPosition(read), "eroica.events/3/41");
  EXPECT_FALSE(ReadDeadLetter(read).has_value());
}

TEST_F(DeadLetterTest, SaysHowLargeACutOneWas) {
  log_.record_bytes_max = 430;
  const auto letter = ReadDeadLetter(Refused({{"job", std::string(100, 'j')}}));
  ASSERT_TRUE(letter.has_value());
  EXPECT_TRUE(letter->cut);
  EXPECT_EQ(letter->value_bytes, kBytes.size());
}

TEST(DeadLetter, IsNothingElseOfThatTopic) {
  EXPECT_FALSE(ReadDeadLetter({}).has_value());
  const Headers no_position = {{"dead-letter-reason", "late"},
                               {"dead-letter-topic", "eroica.events"},
                               {"dead-letter-partition", "3"},
                               {"dead-letter-offset", "-1"}};
  EXPECT_FALSE(ReadDeadLetter({.headers = no_position}).has_value());
}

}  // namespace
}  // namespace eroica
