#include "stream_ops/kafka/kafka_partition_readers.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/kafka/kafka_client.h"
#include "stream_ops/kafka/kafka_damage_search.h"
#include "stream_ops/kafka/kafka_error.h"
#include "stream_ops/kafka/kafka_partition_list.h"
#include "stream_ops/kafka/kafka_record.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

// What librdkafka fetches ahead of one partition, at least. It waits for a while before it fetches
// again for a partition that is full, so that little would make it slow.
constexpr size_t kFetchedBytesMin = size_t{8} << 20;
constexpr milliseconds kPollTimeout{100};
// While damaged records are looked at, so that the next look comes soon.
constexpr milliseconds kSearchTimeout{10};

// The client that the readers share.
class Client final : public KafkaEvents {
 public:
  static absl::StatusOr<std::shared_ptr<Client>> Connect(const KafkaOptions& options,
                                                         size_t fetched_bytes, size_t partitions) {
    auto client = std::make_shared<Client>(options);
    const size_t fetched = std::max(fetched_bytes / partitions, kFetchedBytesMin);
    absl::StatusOr<KafkaHandle> handle =
        MakeKafkaHandle(options, KafkaRole::kConsumer,
                        {kNoStatistics,
                         {"group.id", "eroica-reader"},  // it is asked for, and never joined
                         {"queued.max.messages.kbytes", std::to_string(fetched >> 10)}},
                        client.get());
    if (!handle.ok()) return handle.status();
    client->handle_ = *std::move(handle);
    return client;
  }

  explicit Client(const KafkaOptions& options)
      : KafkaEvents(options.bootstrap_servers), options_(options) {}

  rd_kafka_t* handle() const { return handle_.get(); }
  const KafkaOptions& options() const { return options_; }
  milliseconds request_timeout() const { return options_.request_timeout; }

 private:
  const KafkaOptions options_;
  KafkaHandle handle_;
};

class KafkaPartitionReader final : public PartitionReader {
 public:
  static absl::StatusOr<std::unique_ptr<PartitionReader>> Start(std::shared_ptr<Client> client,
                                                                const TopicPartition& partition,
                                                                int64_t offset) {
    std::unique_ptr<KafkaPartitionReader> reader(
        new KafkaPartitionReader(std::move(client), partition));
    reader->topic_.reset(
        rd_kafka_topic_new(reader->client_->handle(), partition.topic.c_str(), nullptr));
    if (reader->topic_ == nullptr)
      return KafkaStatus(rd_kafka_last_error(), fmt::format("read {}", partition.topic));
    if (absl::Status status = reader->StartAt(offset); !status.ok()) return status;
    return reader;
  }
  ~KafkaPartitionReader() override {
    if (started_) rd_kafka_consume_stop(topic_.get(), partition_.partition);
  }

  absl::Status Read(size_t max_records, std::vector<ConsumerRecord>* out) override {
    rd_kafka_poll(client_->handle(), 0);
    if (absl::Status status = SkipDamage(); !status.ok()) return status;
    const size_t wanted = out->size() + max_records;
    milliseconds timeout = damage_search_.empty() ? kPollTimeout : kSearchTimeout;
    while (out->size() < wanted) {
      const KafkaMessage message(
          rd_kafka_consume(topic_.get(), partition_.partition, static_cast<int>(timeout.count())));
      if (message == nullptr) return client_->down() ? client_->DownStatus() : absl::OkStatus();
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return TakeError(*message);
      if (!damage_search_.empty()) continue;  // read again once the damage is skipped
      timeout = milliseconds(0);
      client_->NoteAnswer();
      if (message->offset < position_) continue;  // of the batch that a seek began in
      out->push_back(ReadKafkaRecord(*message, partition_));
      position_ = message->offset + 1;
    }
    return absl::OkStatus();
  }

  // At the next Read, which answers with what fails.
  void Seek(int64_t offset) override {
    damage_search_.Clear();
    rd_kafka_consume_stop(topic_.get(), partition_.partition);
    started_ = false;
    if (absl::Status status = StartAt(offset); !status.ok())
      spdlog::warn("kafka: seek partition={} error=\"{}\"", NameOf(partition_),
                   std::string(status.message()));
  }
  int64_t position() const override { return position_; }
  int64_t missing_records() const override { return missing_records_; }
  std::vector<DamagedRange> TakeDamaged() override { return std::exchange(damaged_, {}); }

  absl::StatusOr<int64_t> EndOffset() override {
    const absl::StatusOr<std::pair<int64_t, int64_t>> watermarks = Watermarks();
    if (!watermarks.ok()) return watermarks.status();
    return watermarks->second;
  }

  absl::StatusOr<int64_t> OffsetForTime(int64_t timestamp_ms) override {
    const KafkaPartitionList list = MakePartitionList();
    AddPartition(list, partition_, std::max<int64_t>(timestamp_ms, 0));
    const rd_kafka_resp_err_t error = rd_kafka_offsets_for_times(
        client_->handle(), list.get(), ToKafkaTimeout(client_->request_timeout()));
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      return KafkaStatus(error, fmt::format("find a time in {}", NameOf(partition_)));
    return list->elems[0].offset < 0 ? EndOffset() : list->elems[0].offset;
  }

 private:
  KafkaPartitionReader(std::shared_ptr<Client> client, TopicPartition partition)
      : client_(std::move(client)),
        partition_(std::move(partition)),
        damage_search_(client_->options(), {}) {}

  absl::Status StartAt(int64_t offset) {
    position_ = offset;
    if (rd_kafka_consume_start(topic_.get(), partition_.partition, offset) != 0)
      return KafkaStatus(rd_kafka_last_error(),
                         fmt::format("read {} from {}", NameOf(partition_), offset));
    started_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<std::pair<int64_t, int64_t>> Watermarks() {
    std::pair<int64_t, int64_t> watermarks;
    const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
        client_->handle(), partition_.topic.c_str(), partition_.partition, &watermarks.first,
        &watermarks.second, ToKafkaTimeout(client_->request_timeout()));
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      return KafkaStatus(error, fmt::format("find the end of {}", NameOf(partition_)));
    return watermarks;
  }

  absl::Status TakeError(const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      client_->NoteAnswer();
      position_ = std::max(position_, message.offset);
      return absl::OkStatus();
    }
    if (message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
        message.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
      return ReturnIntoRange();
    const KafkaErrorKind kind = KindOfKafkaError(message.err);
    if (kind == KafkaErrorKind::kData) {
      damage_search_.Begin(partition_, std::max(position_, message.offset),
                           rd_kafka_message_errstr(&message));
      return absl::OkStatus();
    }
    if ((kind == KafkaErrorKind::kTransient || kind == KafkaErrorKind::kNone) && !client_->down())
      return absl::OkStatus();
    return KafkaStatus(message.err, fmt::format("read {}", NameOf(partition_)),
                       rd_kafka_message_errstr(&message));
  }

  // What cannot be read is passed over, as far as that goes.
  absl::Status SkipDamage() {
    for (DamagedRange& range : damage_search_.Step()) {
      rd_kafka_consume_stop(topic_.get(), partition_.partition);
      started_ = false;
      if (absl::Status status = StartAt(range.end); !status.ok()) return status;
      if (range.begin == range.end) continue;
      spdlog::warn(
          "kafka: records cannot be read and are skipped partition={} first={} last={} "
          "error=\"{}\"",
          NameOf(partition_), range.begin, range.end - 1, range.reason);
      damaged_.push_back(std::move(range));
    }
    return absl::OkStatus();
  }

  // Retention has removed what lies at the position: on with the oldest record.
  absl::Status ReturnIntoRange() {
    const absl::StatusOr<std::pair<int64_t, int64_t>> watermarks = Watermarks();
    if (!watermarks.ok()) return watermarks.status();
    if (position_ >= watermarks->first && position_ <= watermarks->second) return absl::OkStatus();
    spdlog::warn(
        "kafka: records are gone, going on with the next ones partition={} position={} "
        "next={}",
        NameOf(partition_), position_, watermarks->first);
    missing_records_ += std::max<int64_t>(watermarks->first - position_, 0);
    damage_search_.Clear();
    rd_kafka_consume_stop(topic_.get(), partition_.partition);
    started_ = false;
    return StartAt(watermarks->first);
  }

  const std::shared_ptr<Client> client_;
  const TopicPartition partition_;
  KafkaTopicHandle topic_;
  bool started_ = false;
  int64_t position_ = 0;
  int64_t missing_records_ = 0;
  KafkaDamageSearch damage_search_;
  std::vector<DamagedRange> damaged_;  // skipped, not asked for yet
};

}  // namespace

OpenReaders KafkaReaders(const KafkaOptions& options, size_t fetched_bytes) {
  return [options, fetched_bytes](
             const std::map<TopicPartition, int64_t>& starts) -> absl::StatusOr<PartitionReaders> {
    PartitionReaders readers;
    if (starts.empty()) return readers;
    const absl::StatusOr<std::shared_ptr<Client>> client =
        Client::Connect(options, fetched_bytes, starts.size());
    if (!client.ok()) return client.status();
    for (const auto& [partition, start] : starts) {
      absl::StatusOr<std::unique_ptr<PartitionReader>> reader =
          KafkaPartitionReader::Start(*client, partition, start);
      if (!reader.ok()) return reader.status();
      readers[partition] = *std::move(reader);
    }
    return readers;
  };
}

}  // namespace eroica
