// Dead letters on the command line: which are asked for, how they are shown, how they go back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ops/cli/dead_letter_filter.h"
#include "ops/cli/dead_letter_resend.h"
#include "ops/cli/dead_letter_text.h"
#include "ops/cli/topic_scan.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/testing/faulty_log.h"
#include "stream_ops/runtime/testing/log_reading.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ReadTopic;
using ::testing::SizeIs;

constexpr int64_t kNoonMs = 1'795'608'000'123;  // 2026-11-25

DeadLetter Letter() {
  DeadLetter letter;
  letter.source = {"eroica.events", 3};
  letter.offset = 41;
  letter.reason = "too_short";
  letter.stage = "summarize";
  letter.job = "night";
  letter.value_bytes = 3;
  letter.record = {"eroica.deadletter", 0, 7, kNoonMs, "night/0", std::string("a\0\xff", 3), {}};
  return letter;
}

// What anybody may put into a name.
const std::string kHostile =
    "x\n2026 forged\r\x1b[2J\u009b\u202e\xff/../" + std::string(5'000, 'y');

DeadLetter HostileLetter() {
  DeadLetter letter = Letter();
  for (std::string* name : {&letter.source.topic, &letter.reason, &letter.stage, &letter.job,
                            &letter.record.key, &letter.resend_of})
    *name = kHostile;
  return letter;
}

TEST(DeadLetterTable, RecordsThatCouldNotBeReadAreARange) {
  DeadLetter unreadable = Letter();
  unreadable.reason = "unreadable";
  unreadable.end = 81;
  unreadable.cut = true;
  unreadable.detail = "Decompression failed";
  EXPECT_THAT(DeadLetterTable({unreadable}),
              AllOf(HasSubstr("eroica.events/3/41..80"), HasSubstr(" none\n")));
  const auto json = nlohmann::json::parse(DeadLetterJson(unreadable, false));
  EXPECT_EQ(json["end_offset"], 81);
  EXPECT_EQ(json["detail"], "Decompression failed");
  EXPECT_EQ(json["whole"], false);
}

TEST(DeadLetterTable, OneLineALetter) {
  DeadLetter cut = Letter();
  cut.cut = true;
  cut.value_bytes = 9'000'000;
  cut.resend_of = "eroica.events/3/1";
  EXPECT_EQ(
      DeadLetterTable({Letter(), cut}),
      R"(time                      reason                 stage      source              job    key             bytes
2026-11-25T12:00:00.123Z  too_short              summarize  eroica.events/3/41  night  night/0             3
2026-11-25T12:00:00.123Z  too_short (came back)  summarize  eroica.events/3/41  night  night/0  9000000, cut
)");
}

TEST(DeadLetterTable, HostileNamesForgeNoLineAndDriveNoTerminal) {
  const std::string table = DeadLetterTable({HostileLetter()});
  EXPECT_EQ(std::ranges::count(table, '\n'), 2);
  EXPECT_LT(table.size(), 1'000u);
  for (const char c : table) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << int{c};
  const std::string summary = ReasonsText({{kHostile, 2}});
  for (const char c : summary) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << int{c};
}

TEST(DeadLetterJson, HasAllOfIt) {
  const nlohmann::json json = nlohmann::json::parse(DeadLetterJson(Letter(), true));
  EXPECT_EQ(json["source"],
            nlohmann::json::parse(R"({"topic":"eroica.events","partition":3,"offset":41})"));
  EXPECT_EQ(json["dead_letter"]["offset"], 7);
  EXPECT_EQ(json["time"], "2026-11-25T12:00:00.123Z");
  EXPECT_EQ(json["reason"], "too_short");
  EXPECT_EQ(json["bytes"], 3);
  EXPECT_EQ(json["whole"], true);
  EXPECT_TRUE(json["resend_of"].is_null());
  EXPECT_EQ(json["value_base64"], "YQD/");
  EXPECT_THAT(DeadLetterJson(Letter(), false), Not(HasSubstr("base64")));
}

TEST(DeadLetterJson, StaysValidWhateverTheNames) {
  const std::string text = DeadLetterJson(HostileLetter(), true);
  EXPECT_THAT(text,
              AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\u009b")), Not(HasSubstr("\u202e"))));
  EXPECT_THAT(nlohmann::json::parse(text)["job"].get<std::string>(), HasSubstr("x\n2026 forged\r"));
}

TEST(DeadLetterText, SumsUpByReason) {
  EXPECT_EQ(ReasonsText({}), "0 dead letters");
  EXPECT_EQ(ReasonsText({{"late", 1}, {"too_short", 2}}), "3 dead letters: 2 too_short, 1 late");
  EXPECT_EQ(ReasonsJson({{"late", 1}, {"too_short", 2}}),
            R"({"dead_letters":3,"reasons":{"late":1,"too_short":2}})");
}

TEST(DeadLetterFilter, TakesWhatIsAskedFor) {
  EXPECT_TRUE(DeadLetterFilter().Takes(Letter()));
  EXPECT_TRUE((DeadLetterFilter{.job = "night", .reasons = {"late", "too_short"}}).Takes(Letter()));
  EXPECT_FALSE((DeadLetterFilter{.job = "day"}).Takes(Letter()));
  EXPECT_FALSE((DeadLetterFilter{.reasons = {"late"}}).Takes(Letter()));
  EXPECT_TRUE((DeadLetterFilter{.from_ms = kNoonMs}).Takes(Letter()));
  EXPECT_FALSE((DeadLetterFilter{.from_ms = kNoonMs + 1}).Takes(Letter()));
  EXPECT_FALSE((DeadLetterFilter{.to_ms = kNoonMs}).Takes(Letter()));
}

class DeadLetterResendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* topic : {"eroica.events", "eroica.control", "eroica.deadletter"})
      ASSERT_TRUE(log_.admin().CreateTopic({topic, 4, {}, 1}).ok());
    producer_ = *log_.NewProducer();
  }

  ResendCounts Send(const std::vector<DeadLetter>& letters, ResendOptions options = {}) {
    options.topic_prefix = "eroica";
    DeadLetterResend resend(options.dry_run ? nullptr : producer_.get(), options);
    for (const DeadLetter& letter : letters) EXPECT_TRUE(resend.Send(letter).ok());
    EXPECT_TRUE(resend.Finish().ok());
    return resend.counts();
  }

  MemoryLog inner_log_;
  testing::FaultyLog log_{inner_log_};
  std::unique_ptr<LogProducer> producer_;
};

TEST_F(DeadLetterResendTest, GoesBackWhereItCameFrom) {
  const ResendCounts counts = Send({Letter()});
  EXPECT_EQ(counts.total_sent(), 1u);
  const std::vector<ConsumerRecord> records = ReadTopic(log_, "eroica.events");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].value, Letter().record.value);
  EXPECT_EQ(FindHeader(records[0].headers, kHeaderResendOf), "eroica.events/3/41");
  const std::vector<ConsumerRecord> marks = ReadTopic(log_, "eroica.deadletter");
  ASSERT_THAT(marks, SizeIs(1));
  EXPECT_EQ(ResentPosition(marks[0]), "eroica.events/3/41");
}

TEST_F(DeadLetterResendTest, ADryRunSendsNothing) {
  EXPECT_EQ(Send({Letter()}, {.dry_run = true}).total_sent(), 1u);
  EXPECT_THAT(ReadTopic(log_, "eroica.events"), IsEmpty());
}

TEST_F(DeadLetterResendTest, WhatCameBackIsSentAgainOnlyWhereThatIsAskedFor) {
  DeadLetter letter = Letter();
  letter.resend_of = "eroica.events/3/1";
  DeadLetter sent = Letter();
  sent.resent = true;
  const ResendCounts counts = Send({letter, sent});
  EXPECT_EQ(counts.total_sent(), 0u);
  EXPECT_EQ(counts.sent_before, 2u);
  EXPECT_EQ(Send({letter, sent}, {.again = true}).total_sent(), 2u);
  EXPECT_THAT(ReadTopic(log_, "eroica.events"), SizeIs(2));
}

TEST_F(DeadLetterResendTest, HalfARecordAndForeignTopicsAreRefusedAndCounted) {
  DeadLetter cut = Letter();
  cut.cut = true;
  DeadLetter foreign = Letter();
  foreign.source.topic = "eroica.control";
  const ResendCounts counts = Send({cut, foreign, Letter()});
  EXPECT_EQ(counts.cut, 1u);
  EXPECT_EQ(counts.foreign_topic, 1u);
  EXPECT_EQ(counts.total_sent(), 1u);
  EXPECT_THAT(ReadTopic(log_, "eroica.control"), IsEmpty());
  EXPECT_THAT(ResendText(counts, false),
              AllOf(HasSubstr("sent 1 back: 1 to eroica.events"),
                    HasSubstr("1 of which only a part"), HasSubstr("1 that came from no topic")));
  EXPECT_EQ(nlohmann::json::parse(ResendJson(counts, true)),
            nlohmann::json::parse(R"({"dry_run":true,"sent":{"eroica.events":1},"not_sent":
                {"cut":1,"sent_before":0,"foreign_topic":1,"refused":0}})"));
}

TEST_F(DeadLetterResendTest, AFullQueueIsWaitedForAndATooLargeRecordCounted) {
  log_.appends_refused = 1;
  EXPECT_EQ(Send({Letter()}).total_sent(), 1u);
  EXPECT_THAT(ReadTopic(log_, "eroica.events"), SizeIs(1));
  log_.record_bytes_max = 10;
  EXPECT_EQ(Send({Letter()}).refused, 1u);
}

TEST(TopicScan, EndsWhereTheTopicEndedWhenItBegan) {
  MemoryLog log;
  ASSERT_TRUE(log.admin().CreateTopic({"t", 2, {}, 1}).ok());
  testing::AppendAll(
      log, {{.topic = "t", .key = "a", .value = "1"}, {.topic = "t", .key = "b", .value = "2"}});
  const std::unique_ptr<TopicScan> scan = *TopicScan::Open(log, "t");
  std::vector<ConsumerRecord> records;
  size_t seen = 0;
  while (scan->Next(&records).value()) {
    seen += records.size();
    for (const ConsumerRecord& record : records)  // as one that comes back
      testing::AppendAll(log, {{.topic = "t", .key = record.key, .value = "again"}});
  }
  EXPECT_EQ(seen, 2u);
  EXPECT_EQ(scan->passed(), 2u);
  EXPECT_EQ(scan->total(), 2u);
}

TEST(TopicScan, ATopicThatIsNotThereIsAnError) {
  MemoryLog log;
  const absl::StatusOr<std::unique_ptr<TopicScan>> scan = TopicScan::Open(log, "none");
  std::vector<ConsumerRecord> records;
  EXPECT_FALSE(scan.ok() && (*scan)->Next(&records).ok());
}

}  // namespace
}  // namespace eroica
