// What a consumer does about librdkafka's errors: it skips what cannot be read, goes back into what
// the partition holds, tries again, or answers with the error.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "stream_ops/kafka/kafka_consumer.h"
#include "stream_ops/kafka/kafka_error.h"
#include "stream_ops/kafka/kafka_partition_list.h"

namespace eroica {
namespace {

// Ranges that are kept for whoever asks; who never asks has the log lines.
constexpr size_t kDamagedLimit = 1'000;

}  // namespace

absl::Status KafkaConsumer::TakeError(const rd_kafka_message_t& message) {
  const TopicPartition partition{message.rkt == nullptr ? "" : rd_kafka_topic_name(message.rkt),
                                 message.partition};
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      NoteAnswer();
      ends_[partition] = message.offset;
      return absl::OkStatus();
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
      spdlog::warn(
          "kafka: polled too late, the group goes on without us until the next poll group={}",
          group_);
      return absl::OkStatus();
    case RD_KAFKA_RESP_ERR__FATAL: {
      char reason[512] = "";
      const rd_kafka_resp_err_t error = rd_kafka_fatal_error(handle_.get(), reason, sizeof(reason));
      return absl::AbortedError(
          KafkaStatus(error, fmt::format("go on reading as group {}", group_), reason).message());
    }
    default: break;
  }
  const absl::Status status = KafkaStatus(
      message.err,
      fmt::format("read {}", partition.topic.empty() ? "from Kafka" : NameOf(partition)),
      rd_kafka_message_errstr(&message));
  switch (KindOfKafkaError(message.err)) {
    case KafkaErrorKind::kNone: return absl::OkStatus();
    case KafkaErrorKind::kPosition: return ReturnIntoRange(partition);
    case KafkaErrorKind::kData: SearchDamage(partition, message); return absl::OkStatus();
    case KafkaErrorKind::kTransient: NoteTransient(status); return absl::OkStatus();
    case KafkaErrorKind::kClient: return absl::AbortedError(status.message());
    case KafkaErrorKind::kConfiguration: return status;
  }
  return status;
}

// It passes by itself; where nothing answers any more, Poll says so.
void KafkaConsumer::NoteTransient(const absl::Status& status) {
  if (const std::optional<uint64_t> not_logged = transient_log_.Due(Clock::now()))
    spdlog::warn("kafka: tried again not_logged={} error=\"{}\"", *not_logged,
                 std::string(status.message()));
}

bool KafkaConsumer::HasPending(const TopicPartition& partition) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const ConsumerRecord& record) {
    return record.partition == partition.partition && record.topic == partition.topic;
  });
}

// librdkafka stays in front of what it cannot read, and says so again at every fetch.
void KafkaConsumer::SearchDamage(const TopicPartition& partition,
                                 const rd_kafka_message_t& message) {
  NoteAnswer();
  const auto position = positions_.find(partition);
  if (position == positions_.end() || found_.contains(partition) ||
      damage_search_.BeginOf(partition))
    return;
  int64_t next = position->second;
  for (const ConsumerRecord& record : pending_) {
    if (record.partition == partition.partition && record.topic == partition.topic)
      next = std::max(next, record.offset + 1);
  }
  const std::string reason = rd_kafka_message_errstr(&message);
  spdlog::warn(
      "kafka: records cannot be read, looking for the next ones partition={} offset={} "
      "error=\"{}\"",
      NameOf(partition), std::max(next, message.offset), reason);
  damage_search_.Begin(partition, std::max(next, message.offset), reason);
}

// Some damage makes librdkafka fetch the same record set again and again, and say nothing.
void KafkaConsumer::WatchStandstill(
    const std::map<TopicPartition, KafkaStatistics::Bounds>& bounds) {
  for (const auto& [partition, position] : positions_) {
    const auto known = bounds.find(partition);
    const bool waits = known != bounds.end() && known->second.stable_end > position &&
                       !paused_.contains(partition) && !found_.contains(partition) &&
                       !damage_search_.BeginOf(partition) && !HasPending(partition);
    const auto standing = standing_.find(partition);
    if (!waits) {
      if (standing != standing_.end()) standing_.erase(standing);
      continue;
    }
    if (standing == standing_.end() || standing->second.first != position) {
      standing_[partition] = {position, polled_at_};
      continue;
    }
    if (polled_at_ - standing->second.second < standstill_) continue;
    spdlog::info(
        "kafka: nothing comes of a partition, its records are looked at partition={} "
        "offset={} end={}",
        NameOf(partition), position, known->second.stable_end);
    damage_search_.Begin(partition, position, "nothing comes of it, and no error", true);
    standing_.erase(standing);
  }
}

// Goes on behind what cannot be read, once everything before it has been handed over.
absl::Status KafkaConsumer::SkipDamage(bool* skipped) {
  for (DamagedRange& range : damage_search_.Step()) {
    const TopicPartition partition = range.partition;
    found_[partition] = std::move(range);
  }
  while (true) {
    const auto found = std::find_if(found_.begin(), found_.end(), [this](const auto& of_partition) {
      return !HasPending(of_partition.first);
    });
    if (found == found_.end()) return absl::OkStatus();
    DamagedRange range = std::move(found->second);
    found_.erase(found);
    if (absl::Status status = SkipTo(range.partition, range.end); !status.ok()) return status;
    if (range.begin == range.end) {
      spdlog::warn("kafka: records can be read after all partition={} offset={} error=\"{}\"",
                   NameOf(range.partition), range.begin, range.reason);
      continue;
    }
    *skipped = true;
    spdlog::warn(
        "kafka: records cannot be read and are skipped: look at the broker's disks, and at what "
        "its producer sends partition={} first={} last={} error=\"{}\"",
        NameOf(range.partition), range.begin, range.end - 1, range.reason);
    if (damaged_.size() < kDamagedLimit) damaged_.push_back(std::move(range));
  }
}

absl::Status KafkaConsumer::SkipTo(const TopicPartition& partition, int64_t offset) {
  const KafkaTopicHandle topic(rd_kafka_topic_new(handle_.get(), partition.topic.c_str(), nullptr));
  if (topic == nullptr ||
      rd_kafka_seek(topic.get(), partition.partition, offset, ToKafkaTimeout(request_timeout_)) !=
          RD_KAFKA_RESP_ERR_NO_ERROR)
    return Reassign(partition, offset);
  positions_[partition] = offset;
  ends_.erase(partition);
  return absl::OkStatus();
}

// The position lies outside of what the partition holds: retention has removed it, or the topic was
// made anew. Goes on with the oldest record.
absl::Status KafkaConsumer::ReturnIntoRange(const TopicPartition& partition) {
  const auto position = positions_.find(partition);
  if (position == positions_.end()) return absl::OkStatus();
  const auto watermarks = Watermarks(partition);
  if (!watermarks.ok()) return watermarks.status();
  const auto [low, high] = *watermarks;
  spdlog::warn(
      "kafka: the position is gone, going on with the oldest record partition={} position={} "
      "oldest={} end={} lost={}",
      NameOf(partition), position->second, low, high, std::max<int64_t>(low - position->second, 0));
  if (high < position->second && listener_ != nullptr)
    listener_->OnPartitionMadeAnew(partition, low);
  return Reassign(partition, low);
}

// A partition whose fetching has stopped on an error takes no seek: it is assigned anew, and the
// others with it where the protocol knows no less.
absl::Status KafkaConsumer::Reassign(const TopicPartition& partition, int64_t offset) {
  const std::string doing = fmt::format("go on at {} in {}", offset, NameOf(partition));
  positions_[partition] = offset;
  const KafkaPartitionList one = MakePartitionList();
  AddPartition(one, partition, offset);
  if (IsCooperative(handle_.get())) {
    DropPending(partition);
    KafkaError error(rd_kafka_incremental_unassign(handle_.get(), one.get()));
    if (error == nullptr) error.reset(rd_kafka_incremental_assign(handle_.get(), one.get()));
    return error == nullptr ? absl::OkStatus()
                            : KafkaStatus(rd_kafka_error_code(error.get()), doing,
                                          rd_kafka_error_string(error.get()));
  }
  pending_.clear();
  ends_.clear();
  damage_search_.Clear();
  found_.clear();
  const KafkaPartitionList all = MakePartitionList(positions_.size());
  for (const auto& [name, position] : positions_)
    AddPartition(all, name, position == 0 ? RD_KAFKA_OFFSET_BEGINNING : position);
  return KafkaStatus(rd_kafka_assign(handle_.get(), all.get()), doing);
}

}  // namespace eroica
