// The partitioned log under the stages, as Kafka defines it: topics of numbered partitions, each an
// ordered sequence of records with offsets from 0.
// Three implementations: MemoryLog (bounded runs and tests), Recording (segments on disk, embedded
// mode, incidents), Kafka (librdkafka). Operations that can fail answer with absl::Status:
// kUnavailable and kDeadlineExceeded may be tried again, everything else needs a person.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "schemas/drop_reason.h"
#include "stream_ops/log/client_measures.h"

namespace eroica {

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

// Offsets [begin, end) of a partition that the log holds and cannot give: a record set that cannot
// be unpacked, an entry whose checksum is wrong.
struct DamagedRange {
  TopicPartition partition;
  int64_t begin = 0;
  int64_t end = 0;
  std::string reason;  // what the log says of it
  friend bool operator==(const DamagedRange&, const DamagedRange&) = default;
};

using Headers = std::vector<std::pair<std::string, std::string>>;
// The value of the first header of that name, or nothing.
std::optional<std::string_view> FindHeader(const Headers& headers, std::string_view name);

// What a producer appends. Without a partition, the key decides by Kafka's default partitioner
// (murmur2).
struct ProducerRecord {
  std::string topic;
  std::string key;
  std::string value;  // empty is Kafka's null: in a compacted topic it deletes the key
  Headers headers;
  int64_t timestamp_ms = 0;  // event time; Kafka takes 0 as now
  std::optional<int32_t> partition;
};

// What the record takes of a log, at most.
size_t RecordBytes(const ProducerRecord& record);

// What a consumer reads. Owns its bytes.
struct ConsumerRecord {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  std::string key;
  std::string value;
  Headers headers;
  bool stamped_at_arrival = false;  // timestamp_ms is when the log took it, not the producer's

  Bytes payload() const { return std::as_bytes(std::span(value.data(), value.size())); }
};

// Told by Poll, on the polling thread, when the group protocol moves partitions. Without a group:
// once, at the first Poll.
class RebalanceListener {
 public:
  virtual ~RebalanceListener() = default;
  // The offset to start from, per partition, is asked for here: nothing = where the group's commit
  // stands, else the beginning.
  virtual std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) = 0;
  // The last moment to commit. lost: another member owns it already, do not commit.
  virtual void OnPartitionRevoked(const TopicPartition& partition, bool lost) = 0;
  // The partition was made anew and ends before our position: Poll goes on at this offset.
  virtual void OnPartitionMadeAnew(const TopicPartition&, int64_t /*offset*/) {}
};

// Where a group stands in a partition.
struct GroupOffset {
  GroupOffset() = default;
  GroupOffset(int64_t next_offset) : next(next_offset), processed(next_offset) {}  // NOLINT
  GroupOffset(int64_t next_offset, int64_t processed_offset)
      : next(next_offset), processed(processed_offset) {}

  int64_t next = 0;       // of the next record that a restart reads
  int64_t processed = 0;  // one past the last record whose effects are committed; at least next
  friend bool operator==(const GroupOffset&, const GroupOffset&) = default;
};
using GroupOffsets = std::map<TopicPartition, GroupOffset>;

struct ConsumerOptions {
  std::string group_id;  // empty: no group, all partitions of the topics are this consumer's
  std::string group_instance_id;  // static membership
  // Records of open and aborted transactions are read, and lie before EndOffset, too.
  bool read_uncommitted = false;
  // Kafka only: librdkafka properties, passed through
  std::map<std::string, std::string> properties;
};

// One consumer, one thread. Destroying it leaves the group and tells the listener nothing: its
// owner commits first.
class LogConsumer {
 public:
  virtual ~LogConsumer() = default;
  // The listener (nullptr: none) must outlive the consumer. Once. A topic that does not exist is
  // told by Poll (kNotFound), which may be tried again.
  virtual absl::Status Subscribe(std::vector<std::string> topics, RebalanceListener* listener) = 0;
  // Instead of Subscribe, and as often as wanted: reads exactly these partitions, each from its
  // offset, whatever a group says. What was assigned before and is not named is read no longer.
  // kNotFound: one of them does not exist; nothing has changed then.
  virtual absl::Status Assign(const std::map<TopicPartition, int64_t>& starts) = 0;
  // Appends up to max_records to *out in offset order within each partition; returns at once when
  // there are some, else waits up to timeout. Corrupt input of the log itself (a torn tail, a
  // failed checksum) is skipped and reported once by a log line; TakeDamaged names its offsets,
  // and corrupt_bytes() counts it where the log knows its bytes.
  // kAborted: somebody else has our place in the group; this consumer is finished.
  virtual absl::Status Poll(std::chrono::milliseconds timeout, size_t max_records,
                            std::vector<ConsumerRecord>* out) = 0;
  virtual absl::Status Seek(const TopicPartition& partition, int64_t offset) = 0;
  // Poll answers no records of the partition until Resume; its position stays, rebalances are
  // heard. Lasts until the partition is assigned anew. Pausing twice is pausing once.
  virtual absl::Status Pause(const TopicPartition& partition) = 0;
  virtual absl::Status Resume(const TopicPartition& partition) = 0;
  // The offset that the next record polled from the partition will have, at least.
  virtual absl::StatusOr<int64_t> Position(const TopicPartition& partition) = 0;
  // One past the last record; Kafka: before it, no transaction is open (read_uncommitted aside).
  virtual absl::StatusOr<int64_t> EndOffset(const TopicPartition& partition) = 0;
  // The first offset whose timestamp is at least timestamp_ms; the end offset where there is none.
  virtual absl::StatusOr<int64_t> OffsetForTime(const TopicPartition& partition,
                                                int64_t timestamp_ms) = 0;
  // kUnavailable: we have not polled for so long that the group may have given our partitions to
  // another member, as after the process was stopped and went on. The next Poll settles it.
  virtual absl::Status CheckMembership() { return absl::OkStatus(); }
  // Who we are in the group, for LogProducer::CommitTransaction; opaque, empty without a group.
  virtual absl::StatusOr<std::string> GroupMetadata() { return std::string(); }
  // Keeps the offsets for the group. A no-op without a group.
  virtual absl::Status Commit(const GroupOffsets& offsets) = 0;
  virtual std::vector<TopicPartition> Assignment() const = 0;
  virtual uint64_t corrupt_bytes() const { return 0; }
  // What Poll has skipped since this was last asked. Of one partition, everything before a range
  // has been handed out by then; what lies behind it may have been as well.
  virtual std::vector<DamagedRange> TakeDamaged() { return {}; }
  // At once, without asking anybody.
  virtual ClientMeasures Measure() const { return {}; }
};

// Thread-safe. An Append that fails has not handed its record over. Append hands over and returns;
// Flush waits until everything handed over is durable in the log's own sense, or says what is not.
class LogProducer {
 public:
  virtual ~LogProducer() = default;
  // kResourceExhausted: the queue is full; the caller waits and tries again, or drops and counts
  // (inside a training process).
  // kInvalidArgument: the log never takes this record, or, by TakeRefused, one before it.
  virtual absl::Status Append(ProducerRecord record) = 0;
  // kInvalidArgument: nothing but what TakeRefused reports was lost.
  virtual absl::Status Flush(std::chrono::milliseconds timeout) = 0;
  // Of a record, by RecordBytes. What is larger is refused.
  virtual size_t record_bytes_max() const { return std::numeric_limits<size_t>::max(); }
  // Records that were handed over and that the log refused for good, each for what it is, since
  // this was last asked. To hand them over again is of no use.
  virtual std::map<DropReason, uint64_t> TakeRefused() { return {}; }
  // At once, without asking anybody. Called now and then by whoever keeps a producer that may have
  // nothing to append for long: what its client says meanwhile is kept until then.
  virtual ClientMeasures Measure() const { return {}; }

  // Only of a transactional producer, which one thread uses: everything that is appended between
  // Begin and Commit becomes visible to consumers at once, or never.
  virtual absl::Status BeginTransaction();
  // What the transaction has made of the input, by consumer group: records up to these offsets.
  struct Consumed {
    std::string group_metadata;  // LogConsumer::GroupMetadata
    GroupOffsets offsets;
  };
  // kUnavailable, kDeadlineExceeded: the same call may be made again. kAborted: the transaction is
  // void, or its producer fenced off: go back to the last commit, with a new producer.
  virtual absl::Status CommitTransaction(const Consumed& consumed,
                                         std::chrono::milliseconds timeout);
};

struct TopicSpec {
  std::string name;
  int32_t partitions = 1;
  // retention.ms, cleanup.policy, min.insync.replicas ...
  std::map<std::string, std::string> config;
  int16_t replication_factor = 1;
};

class LogAdmin {
 public:
  virtual ~LogAdmin() = default;
  // kAlreadyExists where the topic is there already.
  virtual absl::Status CreateTopic(const TopicSpec& spec) = 0;
  // kNotFound where there is no such topic. kUnimplemented: this log deletes none.
  virtual absl::Status DeleteTopic(const std::string& name);
  // kNotFound where there is no such topic. config holds only what the log knows of the topic.
  virtual absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) = 0;
  // What a group has committed in the topic; partitions of which it has committed nothing are left
  // out. kUnimplemented: the log does not keep it.
  virtual absl::StatusOr<GroupOffsets> DescribeGroup(const std::string& group,
                                                     const std::string& topic);
  // LogConsumer::EndOffset (without read_uncommitted) of every partition, in one question that does
  // not queue behind what a consumer fetches. kUnimplemented: a consumer is as good to ask.
  virtual absl::StatusOr<std::map<TopicPartition, int64_t>> EndOffsets(const std::string& topic);
};

// Where a partition ends within an entry, and nobody is writing it: its last record is lost.
struct CutEnd {
  TopicPartition partition;
  std::string file;
  int64_t position = 0;  // of the first byte of the entry that is cut
  int64_t bytes = 0;     // that are left of it
};
// "FILE of TOPIC/PARTITION ends within an entry, at byte POSITION: the last entry is lost".
std::string CutEndText(const CutEnd& end);

class Log {
 public:
  virtual ~Log() = default;
  virtual absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(
      const ConsumerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() = 0;
  // Of the producers of one id only the newest writes: it aborts what an older one had not
  // committed, and fences it off. kUnimplemented: this log has no transactions.
  virtual absl::StatusOr<std::unique_ptr<LogProducer>> NewTransactionalProducer(
      const std::string& transactional_id);
  virtual LogAdmin& admin() = 0;
  // Of the partitions of these topics, less the topics that do not exist. A Kafka has none: it
  // takes whole records. Before this process appends to them: a writer cuts off what it finds.
  virtual absl::StatusOr<std::vector<CutEnd>> CutEnds(const std::vector<std::string>& topics);
};

}  // namespace eroica
