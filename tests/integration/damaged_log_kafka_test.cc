// Record sets that cannot be unpacked, in the middle of a real broker's log: who reads passes over
// exactly those, says so, and goes on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "state_store/in_memory_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/kafka/kafka_partition_readers.h"
#include "stream_ops/log/slice_reader.h"
#include "stream_ops/runtime/dead_letter.h"
#include "stream_ops/runtime/stage_threads.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/testing/window_sum.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kDeadline{60};
constexpr int kSets = 5;
constexpr int kRecordsOfSet = 40;

// One of a segment, as Kafka's format says.
struct RecordSet {
  int64_t begin = 0;
  int64_t end = 0;
  size_t at = 0;     // of its first byte in the file
  size_t bytes = 0;  // all of it
};

uint64_t ReadBigEndian(const std::string& bytes, size_t at, size_t count) {
  return std::accumulate(
      bytes.begin() + static_cast<ptrdiff_t>(at),
      bytes.begin() + static_cast<ptrdiff_t>(at + count), uint64_t{0},
      [](uint64_t value, char byte) { return value << 8 | static_cast<unsigned char>(byte); });
}

std::vector<RecordSet> SetsOf(const std::string& segment) {
  constexpr size_t kLengthAt = 8;
  constexpr size_t kAfterLength = 12;
  constexpr size_t kLastOffsetAt = 23;
  std::vector<RecordSet> sets;
  for (size_t at = 0; at + kLastOffsetAt + 4 <= segment.size();) {
    RecordSet set{.begin = static_cast<int64_t>(ReadBigEndian(segment, at, 8)),
                  .end = 0,
                  .at = at,
                  .bytes = kAfterLength + ReadBigEndian(segment, at + kLengthAt, 4)};
    if (set.bytes == kAfterLength) break;  // what the broker has set aside
    set.end = set.begin + static_cast<int64_t>(ReadBigEndian(segment, at + kLastOffsetAt, 4)) + 1;
    at += set.bytes;
    sets.push_back(set);
  }
  return sets;
}

class DamagedLogKafka : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
    broker_ = std::make_unique<OwnBroker>();
    ASSERT_FALSE(broker_->address().empty());
    options_ = {.bootstrap_servers = broker_->address(),
                .properties = {{"compression.codec", "gzip"}, {"linger.ms", "200"}}};
    log_ = *KafkaLog::Open(options_);
  }

  // Sets of records k:WINDOW:1, all of one key, into partition 0.
  void Send(const std::string& topic) {
    for (int set = 0; set < kSets; ++set) {
      std::vector<ProducerRecord> records;
      for (int i = 0; i < kRecordsOfSet; ++i)
        records.push_back({.topic = topic,
                           .key = "k",
                           .value = fmt::format("k:{}:1", set * kRecordsOfSet + i),
                           .headers = {},
                           .timestamp_ms = 1'000,
                           .partition = 0});
      testing::AppendAll(*log_, std::move(records));
    }
  }

  std::string SegmentPath(const std::string& topic) const {
    return fmt::format("{}/data/{}-0/00000000000000000000.log", broker_->folder(), topic);
  }

  // Of the set that holds this offset: a byte in the middle of what is compressed changes.
  RecordSet Damage(const std::string& topic, int64_t offset) {
    const std::string path = SegmentPath(topic);
    std::ifstream input(path, std::ios::binary);
    const std::string segment{std::istreambuf_iterator<char>(input), {}};
    for (const RecordSet& set : SetsOf(segment)) {
      if (offset < set.begin || offset >= set.end) continue;
      constexpr size_t kHeaderBytes = 61;
      const size_t byte = set.at + kHeaderBytes + (set.bytes - kHeaderBytes) / 2;
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(byte));
      file.put(static_cast<char>(segment[byte] ^ 0x40));
      return set;
    }
    ADD_FAILURE() << "no set holds offset " << offset;
    return {};
  }

  // The record that is alone in its set says that it goes beyond it.
  void LengthenRecord(const std::string& topic, int64_t offset) {
    constexpr size_t kRecordAt = 61;
    constexpr char kTooLong = 0x7e;  // 63 bytes, as a number of variable length
    const std::string path = SegmentPath(topic);
    std::ifstream input(path, std::ios::binary);
    for (const RecordSet& set : SetsOf({std::istreambuf_iterator<char>(input), {}})) {
      if (set.begin != offset) continue;
      ASSERT_EQ(set.end, offset + 1);
      ASSERT_LT(set.bytes, kRecordAt + 63);
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(set.at + kRecordAt));
      file.put(kTooLong);
      return;
    }
    ADD_FAILURE() << "no set begins at offset " << offset;
  }

  // All that is there and not in one of these sets.
  static std::vector<int64_t> OffsetsWithout(const std::vector<RecordSet>& damaged) {
    std::vector<int64_t> offsets;
    for (int64_t offset = 0; offset < int64_t{kSets} * kRecordsOfSet; ++offset) {
      const bool is_damaged = std::any_of(damaged.begin(), damaged.end(), [&](const auto& set) {
        return offset >= set.begin && offset < set.end;
      });
      if (!is_damaged) offsets.push_back(offset);
    }
    return offsets;
  }

  struct Read {
    std::vector<int64_t> offsets;
    std::vector<DamagedRange> damaged;
  };
  static Read ReadToEnd(LogConsumer& consumer, const TopicPartition& partition) {
    return ReadTo(consumer, partition, int64_t{kSets} * kRecordsOfSet);
  }
  // Until the position is there.
  static Read ReadTo(LogConsumer& consumer, const TopicPartition& partition, int64_t end) {
    Read read;
    const auto deadline = steady_clock::now() + kDeadline;
    while (steady_clock::now() < deadline) {
      std::vector<ConsumerRecord> records;
      const absl::Status status = consumer.Poll(milliseconds(50), 7, &records);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) break;
      for (const ConsumerRecord& record : records) read.offsets.push_back(record.offset);
      for (const DamagedRange& range : consumer.TakeDamaged()) read.damaged.push_back(range);
      const auto position = consumer.Position(partition);
      if (position.ok() && *position >= end) break;
    }
    return read;
  }
  static std::vector<std::pair<int64_t, int64_t>> RangesOf(const Read& read) {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const DamagedRange& range : read.damaged) ranges.emplace_back(range.begin, range.end);
    return ranges;
  }

  std::unique_ptr<OwnBroker> broker_;
  KafkaOptions options_;
  std::unique_ptr<KafkaLog> log_;
};

TEST_F(DamagedLogKafka, AConsumerPassesOverExactlyTheSetsThatCannotBeUnpacked) {
  const std::string topic = UniqueName("damaged");
  ASSERT_TRUE(log_->admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());
  Send(topic);
  // Two that follow each other, and the last one of all.
  std::vector<RecordSet> damaged;
  damaged.push_back(Damage(topic, kRecordsOfSet));
  damaged.push_back(Damage(topic, damaged.back().end));
  damaged.push_back(Damage(topic, int64_t{kSets} * kRecordsOfSet - 1));
  std::vector<std::pair<int64_t, int64_t>> expected;
  for (const RecordSet& set : damaged) expected.emplace_back(set.begin, set.end);

  for (const bool in_group : {false, true}) {
    const auto consumer =
        *log_->NewConsumer({.group_id = in_group ? UniqueName("group") : std::string()});
    ASSERT_TRUE(consumer->Subscribe({topic}, nullptr).ok());
    const Read read = ReadToEnd(*consumer, {topic, 0});
    EXPECT_EQ(read.offsets, OffsetsWithout(damaged)) << "in a group: " << in_group;
    EXPECT_EQ(RangesOf(read), expected) << "in a group: " << in_group;
  }
}

// Of such a set of one record, which is not compressed, the record says that it is longer than the
// set: librdkafka takes it for the beginning of more that comes, and fetches it again, without end
// and without an error.
TEST_F(DamagedLogKafka, WhatIsFetchedAgainInSilenceIsSkippedOnceSomethingBehindItCanBeRead) {
  using namespace std::chrono_literals;
  const std::string topic = UniqueName("damaged");
  const TopicPartition partition{topic, 0};
  ASSERT_TRUE(log_->admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());
  const auto impatient = *KafkaLog::Open(
      {.bootstrap_servers = broker_->address(),
       .properties = {{"compression.codec", "none"}, {"statistics.interval.ms", "100"}},
       .patience = {.standstill = 500ms, .look = 2s, .last_look = 2s}});
  const auto send = [&](const char* value) {
    testing::AppendAll(*impatient, {{.topic = topic,
                                     .key = "k",
                                     .value = value,
                                     .headers = {},
                                     .timestamp_ms = 1'000,
                                     .partition = 0}});
  };
  for (const char* value : {"a", "b", "c", "d", "e"}) send(value);
  for (const int64_t offset : {2, 4}) LengthenRecord(topic, offset);

  const auto consumer = *impatient->NewConsumer({.group_id = UniqueName("group")});
  ASSERT_TRUE(consumer->Subscribe({topic}, nullptr).ok());
  // The last one stays: there is nothing behind it that could be read.
  Read read = ReadTo(*consumer, partition, 4);
  EXPECT_THAT(read.offsets, ElementsAre(0, 1, 3));
  EXPECT_THAT(RangesOf(read), ElementsAre(std::pair(2, 3)));
  ASSERT_EQ(read.damaged.size(), 1U);
  EXPECT_THAT(read.damaged[0].reason, HasSubstr("nothing comes of it, and no error"));
  send("f");
  read = ReadTo(*consumer, partition, 6);
  EXPECT_THAT(read.offsets, ElementsAre(5));
  EXPECT_THAT(RangesOf(read), ElementsAre(std::pair(4, 5)));
}

TEST_F(DamagedLogKafka, AReaderOfASlicePassesOverThemAndCountsThem) {
  const std::string topic = UniqueName("damaged");
  ASSERT_TRUE(log_->admin().CreateTopic({.name = topic, .partitions = 1, .config = {}}).ok());
  Send(topic);
  const RecordSet set = Damage(topic, kRecordsOfSet);
  LogSlice slice;
  slice.ranges[{topic, 0}] = {.start = 0, .end = int64_t{kSets} * kRecordsOfSet};
  const auto reader = SliceReader::Open(slice, {}, KafkaReaders(options_));
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<int64_t> offsets;
  while (true) {
    const auto next = (*reader)->Next();
    ASSERT_TRUE(next.ok()) << next.status();
    if (*next == nullptr) break;
    offsets.push_back((*reader)->Pop().offset);
  }
  EXPECT_EQ(offsets, OffsetsWithout({set}));
  EXPECT_EQ((*reader)->damaged_records(), set.end - set.begin);
}

TEST_F(DamagedLogKafka, AStageGoesOnAndItsDeadLetterNamesThem) {
  const std::string prefix = UniqueName("damaged");
  TopicLayout layout;
  layout.partitions.fill(1);
  ASSERT_TRUE(CreateMissingTopics(log_->admin(), prefix, layout).ok());
  const std::string input = TopicName(prefix, Topic::kEvents);
  Send(input);
  const RecordSet set = Damage(input, kRecordsOfSet);

  const Topology topology({{"first", Topic::kEvents, [] {
                              return std::make_unique<testing::WindowSum>(Topic::kPatterns);
                            }}});
  StageThreadsOptions options;
  options.thread.task.topic_prefix = prefix;
  options.thread.poll_timeout = milliseconds(20);
  options.thread.commit_interval = milliseconds(20);
  options.thread.idle_timeout = std::nullopt;
  options.group_prefix = prefix;
  InMemoryStore store;
  // The second run begins at the first one's commit: what is behind it is no news.
  for (int run = 0; run < 2; ++run) {
    StageThreads node(*log_, store, topology, {}, options);
    ASSERT_TRUE(node.Start().ok());
    const auto deadline = steady_clock::now() + kDeadline;
    GroupOffsets committed;
    const TopicPartition partition{input, 0};
    do {
      const auto offsets = log_->admin().DescribeGroup(prefix + "-first", input);
      if (offsets.ok()) committed = *offsets;
    } while (committed[partition].processed < int64_t{kSets} * kRecordsOfSet &&
             steady_clock::now() < deadline);
    EXPECT_EQ(committed[partition].processed, int64_t{kSets} * kRecordsOfSet);
    ASSERT_TRUE(node.Stop().ok());
    if (run > 0) continue;
    const StageProbe probe = node.Probes().at("first");
    EXPECT_EQ(probe.records_unreadable, static_cast<uint64_t>(set.end - set.begin));
    EXPECT_EQ(probe.records_processed,
              static_cast<uint64_t>(kSets * kRecordsOfSet) - probe.records_unreadable);
  }

  std::vector<DeadLetter> letters;
  for (ConsumerRecord& record : testing::ReadTopic(*log_, TopicName(prefix, Topic::kDeadLetter))) {
    if (auto letter = ReadDeadLetter(std::move(record))) letters.push_back(*std::move(letter));
  }
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].reason, "unreadable");
  EXPECT_EQ(SourcePosition(letters[0]), fmt::format("{}/0/{}", input, set.begin));
  EXPECT_EQ(letters[0].end, set.end);
  EXPECT_THAT(letters[0].detail, HasSubstr("Decompression"));
  EXPECT_TRUE(letters[0].cut);
}

}  // namespace
}  // namespace eroica
