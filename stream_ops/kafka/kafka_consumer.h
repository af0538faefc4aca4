// A Kafka consumer. Included only by the .cc files of this folder. One thread.
//
// With a group it follows the group protocol, whichever assignor the properties name; without one
// it takes all partitions of its topics. Records are taken from librdkafka one at a time, not by
// its batch call: that one hands out records of a partition that a rebalance within the same call
// has taken away, and in 2.0.2 it loses or repeats records around seeks; at our record sizes it is
// no faster.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stream_ops/kafka/kafka_client.h"
#include "stream_ops/kafka/kafka_damage_search.h"
#include "stream_ops/kafka/kafka_transaction_watch.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/backoff.h"

namespace eroica {

class KafkaConsumer final : public LogConsumer, private KafkaEvents {
 public:
  static absl::StatusOr<std::unique_ptr<KafkaConsumer>> Make(
      const KafkaOptions& options, const ConsumerOptions& consumer_options);
  ~KafkaConsumer() override;

  absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) override;
  absl::Status Poll(std::chrono::milliseconds timeout, size_t max_records,
                    std::vector<ConsumerRecord>* out) override;
  absl::Status Assign(const std::map<TopicPartition, int64_t>& starts) override;
  absl::Status Seek(const TopicPartition& partition, int64_t offset) override;
  absl::Status Pause(const TopicPartition& partition) override;
  absl::Status Resume(const TopicPartition& partition) override;
  absl::StatusOr<int64_t> Position(const TopicPartition& partition) override;
  absl::StatusOr<int64_t> EndOffset(const TopicPartition& partition) override;
  absl::StatusOr<int64_t> OffsetForTime(const TopicPartition& partition,
                                        int64_t timestamp_ms) override;
  absl::Status CheckMembership() override;
  absl::StatusOr<std::string> GroupMetadata() override;
  absl::Status Commit(const GroupOffsets& offsets) override;
  std::vector<TopicPartition> Assignment() const override;
  std::vector<DamagedRange> TakeDamaged() override { return std::exchange(damaged_, {}); }
  // Only a member of a group is measured.
  ClientMeasures Measure() const override;

 private:
  using Clock = std::chrono::steady_clock;

  KafkaConsumer(const KafkaOptions& options, const KafkaProperties& properties, std::string group)
      : KafkaEvents(options.bootstrap_servers),
        group_(std::move(group)),
        request_timeout_(options.request_timeout),
        standstill_(options.patience.standstill),
        damage_search_(options, properties),
        transactions_(options.bootstrap_servers) {}

  absl::Status Start();
  absl::Status AssignAll(const std::map<std::string, int32_t>& partition_counts);
  void OnRebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions) override;
  void ChooseStarts(rd_kafka_topic_partition_list_t* partitions);
  void Revoked(const rd_kafka_topic_partition_list_t* partitions);
  void ReadCommitted(rd_kafka_topic_partition_list_t* partitions);
  absl::Status Take(const rd_kafka_message_t& message);
  absl::Status TakeError(const rd_kafka_message_t& message);
  void SearchDamage(const TopicPartition& partition, const rd_kafka_message_t& message);
  absl::Status SkipDamage(bool* skipped);
  absl::Status SkipTo(const TopicPartition& partition, int64_t offset);
  bool HasPending(const TopicPartition& partition) const;
  void WatchPartitions();
  void WatchStandstill(const std::map<TopicPartition, KafkaStatistics::Bounds>& bounds);
  void NoteTransient(const absl::Status& status);
  absl::Status ReturnIntoRange(const TopicPartition& partition);
  absl::Status Reassign(const TopicPartition& partition, int64_t offset);
  absl::StatusOr<std::pair<int64_t, int64_t>> Watermarks(const TopicPartition& partition);
  void DropPending(const TopicPartition& partition);
  size_t HandOver(size_t max_records, std::vector<ConsumerRecord>* out);

  const std::string group_;
  const std::chrono::milliseconds request_timeout_;
  // Without a record, an end or an error, before a partition that goes further is looked at.
  const std::chrono::milliseconds standstill_;
  std::chrono::milliseconds session_timeout_{};
  KafkaHandle handle_;
  std::vector<std::string> topics_;
  RebalanceListener* listener_ = nullptr;
  bool started_ = false;
  bool closing_ = false;
  Clock::time_point polled_at_;
  // What is assigned, and the next offset of each. Moved on by records, and by the end of a
  // partition (past transaction markers).
  std::map<TopicPartition, int64_t> positions_;
  // Taken from librdkafka, not handed over yet: what a rebalance or a seek makes stale can still be
  // dropped.
  std::vector<ConsumerRecord> pending_;
  // Paused, and librdkafka stands behind records that were dropped then.
  std::set<TopicPartition> behind_;
  // Where partitions ended when librdkafka came to their end; becomes the position when nothing is
  // pending.
  std::map<TopicPartition, int64_t> ends_;
  KafkaDamageSearch damage_search_;
  // Found by the search; skipped when what lies before has been handed over.
  std::map<TopicPartition, DamagedRange> found_;
  std::vector<DamagedRange> damaged_;  // skipped, not asked for yet
  LogRate transient_log_;
  KafkaTransactionWatch transactions_;
  Clock::time_point watched_at_;
  std::set<TopicPartition> paused_;
  // Where partitions stand of which nothing comes though they go further, and since when.
  std::map<TopicPartition, std::pair<int64_t, Clock::time_point>> standing_;
};

}  // namespace eroica
