#include "producers/core/log_batch_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

// Keeps what it is given; its queue holds `room` records until it is flushed.
class BoundedProducer final : public LogProducer {
 public:
  explicit BoundedProducer(size_t room) : room_(room) {}
  absl::Status Append(ProducerRecord record) override {
    if (queued_ == room_) return absl::ResourceExhaustedError("full");
    ++queued_;
    records.push_back(std::move(record));
    return absl::OkStatus();
  }
  absl::Status Flush(std::chrono::milliseconds) override {
    if (!flush_status.ok()) return flush_status;
    queued_ = 0;
    ++flushes;
    return absl::OkStatus();
  }

  std::vector<ProducerRecord> records;
  int flushes = 0;
  absl::Status flush_status;

 private:
  const size_t room_;
  size_t queued_ = 0;
};

EventBatch Batch(uint32_t rank) {
  EventBatch batch;
  batch.identity.job = JobId{"job"};
  batch.identity.rank = RankId{rank};
  batch.identity.world_size = 256;
  batch.functions = {{.name = "f"}};
  batch.lanes = {{.name = "main"}};
  batch.intervals.push_back(5'000'000'000, 10, 0, 0);
  return batch;
}

// The process goes on, and the next batch is written.
TEST(LogBatchSink, ABatchThatBreaksAnInvariantIsAnError) {
  BoundedProducer producer(10);
  LogBatchSink sink(&producer, {});
  EventBatch broken = Batch(0);
  broken.communicators = {{.id = CommId{1}, .ranks = {0, 256}}};
  const absl::Status status = sink.Write(broken);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("index_out_of_range"));
  EXPECT_TRUE(sink.Write(Batch(0)).ok());
  EXPECT_THAT(producer.records, SizeIs(1));
}

TEST(LogBatchSink, RecordsCarryKeyHeadersTimeAndTheBatch) {
  BoundedProducer producer(10);
  LogBatchSink sink(&producer,
                    {.topic_prefix = "site", .replay_id = "r1", .timestamp_ms = std::nullopt});
  ASSERT_TRUE(sink.Write(Batch(130)).ok());
  ASSERT_TRUE(sink.Finish().ok());
  ASSERT_THAT(producer.records, SizeIs(1));
  const ProducerRecord& record = producer.records[0];
  EXPECT_EQ(record.topic, "site.events");
  EXPECT_EQ(record.key, EventsKey(JobId{"job"}, RankId{130}));
  EXPECT_EQ(record.timestamp_ms, 5'000);
  EXPECT_THAT(record.headers, Contains(Pair("schema", "EVB1")));
  EXPECT_THAT(record.headers, Contains(Pair("job", "job")));
  EXPECT_THAT(record.headers, Contains(Pair("rank", "130")));
  EXPECT_THAT(record.headers, Contains(Pair("replay-id", "r1")));
  EventBatch decoded;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(record.value)), &decoded), DropReason::kNone);
  EXPECT_EQ(decoded.identity, Batch(130).identity);
  EXPECT_EQ(sink.records(), 1u);
  EXPECT_EQ(sink.bytes(), record.value.size());
}

// A log keeps a record by its timestamp: one of 1970 would be the first to go.
TEST(LogBatchSink, ABatchWithoutIntervalsHasItsTimeToo) {
  BoundedProducer producer(10);
  LogBatchSink sink(&producer, {});
  EventBatch batch = Batch(0);
  batch.intervals = {};
  batch.collectives.clear();
  batch.marks.clear();
  batch.samples.clear();
  batch.clock.realtime_ns = 9'000'000'000;
  ASSERT_TRUE(sink.Write(batch).ok());
  batch.connections = {{.time_ns = 7'000'000'000}};
  ASSERT_TRUE(sink.Write(batch).ok());
  batch.progress = {{.time_ns = 8'000'000'000}};
  ASSERT_TRUE(sink.Write(batch).ok());
  ASSERT_THAT(producer.records, SizeIs(3));
  EXPECT_EQ(producer.records[0].timestamp_ms, 9'000);
  EXPECT_EQ(producer.records[1].timestamp_ms, 7'000);
  EXPECT_EQ(producer.records[2].timestamp_ms, 8'000);
}

TEST(LogBatchSink, TimeOfTheImportInsteadOfTheEvent) {
  BoundedProducer producer(10);
  LogBatchSink sink(&producer, {.topic_prefix = "eroica", .replay_id = "", .timestamp_ms = 77});
  ASSERT_TRUE(sink.Write(Batch(0)).ok());
  EXPECT_EQ(producer.records[0].timestamp_ms, 77);
}

TEST(LogBatchSink, WaitsForRoomAndLosesNothing) {
  BoundedProducer producer(2);
  LogBatchSink sink(&producer, {});
  for (uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(sink.Write(Batch(i)).ok());
  EXPECT_THAT(producer.records, SizeIs(5));
  EXPECT_EQ(producer.flushes, 2);
}

TEST(LogBatchSink, ALogThatIsGoneEndsTheImport) {
  BoundedProducer producer(1);
  producer.flush_status = absl::UnavailableError("no broker");
  LogBatchSink sink(&producer, {});
  ASSERT_TRUE(sink.Write(Batch(0)).ok());
  EXPECT_TRUE(absl::IsUnavailable(sink.Write(Batch(1))));
  EXPECT_EQ(sink.records(), 1u);
}

}  // namespace
}  // namespace eroica
