#include "stream_ops/kafka/kafka_consumer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "stream_ops/kafka/kafka_error.h"
#include "stream_ops/kafka/kafka_group_offsets.h"
#include "stream_ops/kafka/kafka_partition_list.h"
#include "stream_ops/kafka/kafka_record.h"
#include "stream_ops/log/all_partitions_consumer.h"

namespace eroica {
namespace {

// While the caller wants no records, rebalances are still heard; up to this many records are kept
// for later then.
constexpr size_t kPendingLimit = 1'000;
// What the group has committed, asked for in the middle of a rebalance: who reads is held up.
constexpr std::chrono::milliseconds kCommittedTimeout{2'000};
// A probe of a cluster that did not answer.
constexpr std::chrono::milliseconds kProbeTimeout{500};
constexpr std::chrono::milliseconds kNoWait{0};
constexpr int kWatermarkTries = 20;
// While damaged records are looked at, so that the next look comes soon.
constexpr std::chrono::milliseconds kSearchWait{10};

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaConsumer>> KafkaConsumer::Make(
    const KafkaOptions& options, const ConsumerOptions& consumer_options) {
  if (absl::Status status = CheckKafkaProperties(consumer_options.properties); !status.ok())
    return status;
  KafkaProperties properties = consumer_options.properties;
  // librdkafka asks for a group even where partitions are assigned by hand; nothing is joined or
  // committed then.
  properties["group.id"] =
      consumer_options.group_id.empty() ? "eroica-reader" : consumer_options.group_id;
  if (!consumer_options.group_instance_id.empty())
    properties["group.instance.id"] = consumer_options.group_instance_id;
  if (consumer_options.read_uncommitted) properties["isolation.level"] = "read_uncommitted";
  if (consumer_options.group_id.empty())
    properties.insert_or_assign(kNoStatistics.first, kNoStatistics.second);
  std::unique_ptr<KafkaConsumer> consumer(
      new KafkaConsumer(options, consumer_options.properties, consumer_options.group_id));
  absl::StatusOr<KafkaHandle> handle =
      MakeKafkaHandle(options, KafkaRole::kConsumer, properties, consumer.get());
  if (!handle.ok()) return handle.status();
  consumer->handle_ = *std::move(handle);
  consumer->session_timeout_ =
      std::chrono::milliseconds(KafkaNumber(consumer->handle_.get(), "session.timeout.ms"));
  return consumer;
}

KafkaConsumer::~KafkaConsumer() {
  if (handle_ == nullptr) return;
  closing_ = true;
  // Only a member of a group has someone to say good-bye to, and only if they listen.
  if (started_ && !group_.empty() && !down()) rd_kafka_consumer_close(handle_.get());
  rd_kafka_destroy_flags(handle_.release(), RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

absl::Status KafkaConsumer::Subscribe(std::vector<std::string> topics,
                                      RebalanceListener* listener) {
  if (!topics_.empty())
    return absl::FailedPreconditionError("this consumer has subscribed already: make another one");
  if (topics.empty()) return absl::InvalidArgumentError("no topics to subscribe to");
  topics_ = std::move(topics);
  listener_ = listener;
  return absl::OkStatus();
}

// Once a second at most.
void KafkaConsumer::WatchPartitions() {
  if (group_.empty() || polled_at_ - watched_at_ < std::chrono::seconds(1)) return;
  constexpr std::chrono::seconds kOften{5};
  if (polled_at_ - watched_at_ > kOften) standing_.clear();  // what has come waits to be taken
  watched_at_ = polled_at_;
  std::map<TopicPartition, KafkaStatistics::Bounds> bounds = statistics().bounds;
  std::erase_if(bounds, [this](const auto& known) { return !positions_.contains(known.first); });
  if (const std::optional<std::string> line = transactions_.Observe(bounds, polled_at_))
    spdlog::warn("{}", *line);
  WatchStandstill(bounds);
}

absl::Status KafkaConsumer::Poll(std::chrono::milliseconds timeout, size_t max_records,
                                 std::vector<ConsumerRecord>* out) {
  if (topics_.empty() && !started_)
    return absl::FailedPreconditionError("subscribe before polling");
  if (absl::Status status = TakeThrown(); !status.ok()) return status;
  polled_at_ = Clock::now();
  const auto deadline =
      polled_at_ + std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(24));
  if (!started_) {
    if (absl::Status status = Start(); !status.ok()) return status;
  }
  WatchPartitions();
  const size_t wanted = max_records == 0 ? kPendingLimit : max_records;
  bool skipped = false;
  while (pending_.size() < wanted) {
    if (absl::Status status = SkipDamage(&skipped); !status.ok()) return status;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    const auto longest = damage_search_.empty() ? left : std::min(left, kSearchWait);
    const auto wait = pending_.empty() && !skipped ? std::max(longest, kNoWait) : kNoWait;
    const KafkaMessage message(rd_kafka_consumer_poll(handle_.get(), ToKafkaTimeout(wait)));
    if (message == nullptr && wait.count() == 0) break;
    if (message == nullptr) continue;
    if (absl::Status status = Take(*message); !status.ok()) return status;
    if (max_records == 0 && Clock::now() >= deadline) break;
  }
  if (HandOver(max_records, out) > 0 || !down()) return absl::OkStatus();
  return KafkaAnswers(handle_.get(), kProbeTimeout, *this) ? absl::OkStatus() : DownStatus();
}

size_t KafkaConsumer::HandOver(size_t max_records, std::vector<ConsumerRecord>* out) {
  const size_t count = std::min(max_records, pending_.size());
  const auto end = pending_.begin() + static_cast<ptrdiff_t>(count);
  for (auto record = pending_.begin(); record != end; ++record) {
    const auto position = positions_.find({record->topic, record->partition});
    if (position != positions_.end())
      position->second = std::max(position->second, record->offset + 1);
  }
  out->insert(out->end(), std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
  pending_.erase(pending_.begin(), end);
  if (pending_.empty()) {
    for (const auto& [partition, end_offset] : ends_) {
      const auto position = positions_.find(partition);
      if (position != positions_.end()) position->second = std::max(position->second, end_offset);
    }
    ends_.clear();
  }
  return count;
}

// At the first Poll: the topics must be there, and someone must answer.
absl::Status KafkaConsumer::Start() {
  std::map<std::string, int32_t> partition_counts;
  for (const std::string& topic : topics_) {
    const absl::StatusOr<KafkaTopicState> state =
        DescribeKafkaTopic(handle_.get(), topic, request_timeout_, *this);
    if (!state.ok()) return state.status();
    partition_counts[topic] = state->partitions;
  }
  rd_kafka_poll_set_consumer(handle_.get());
  if (group_.empty()) {
    if (absl::Status status = AssignAll(partition_counts); !status.ok()) return status;
  } else {
    const KafkaPartitionList list = MakePartitionList(topics_.size());
    for (const std::string& topic : topics_)
      AddPartition(list, {topic, RD_KAFKA_PARTITION_UA}, RD_KAFKA_OFFSET_INVALID);
    if (const auto error = rd_kafka_subscribe(handle_.get(), list.get()))
      return KafkaStatus(error, fmt::format("subscribe as group {}", group_));
  }
  started_ = true;
  return absl::OkStatus();
}

absl::Status KafkaConsumer::AssignAll(const std::map<std::string, int32_t>& partition_counts) {
  const KafkaPartitionList list = MakePartitionList(partition_counts.size());
  for (const auto& [topic, count] : partition_counts) {
    for (int32_t partition = 0; partition < count; ++partition)
      AddPartition(list, {topic, partition}, RD_KAFKA_OFFSET_INVALID);
  }
  ChooseStarts(list.get());
  return KafkaStatus(rd_kafka_assign(handle_.get(), list.get()), "take the partitions");
}

// Called by librdkafka from within Poll (and from the destructor). It must be answered by an assign
// or unassign of its kind.
void KafkaConsumer::OnRebalance(rd_kafka_resp_err_t what,
                                rd_kafka_topic_partition_list_t* partitions) {
  const bool cooperative = IsCooperative(handle_.get());
  KafkaError error;
  spdlog::info("kafka: group={} {} {}", group_,
               what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS ? "assigned" : "revoked",
               NamesOf(*partitions));
  if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS && !closing_) {
    if (!group_.empty()) ReadCommitted(partitions);
    ChooseStarts(partitions);
    if (cooperative) {
      error.reset(rd_kafka_incremental_assign(handle_.get(), partitions));
    } else {
      rd_kafka_assign(handle_.get(), partitions);
    }
  } else {
    if (what == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS && !closing_) Revoked(partitions);
    if (cooperative) {
      error.reset(rd_kafka_incremental_unassign(handle_.get(), partitions));
    } else {
      rd_kafka_assign(handle_.get(), nullptr);
    }
  }
  if (error != nullptr)
    spdlog::warn("kafka: rebalance group={} error={}", group_, rd_kafka_error_string(error.get()));
}

// Where the group's commit stands goes to the offsets. Where it cannot be had, librdkafka asks
// again itself; whoever has a listener seeks, which a partition that waits for its offset refuses,
// and it may wait for ever (librdkafka 2.0.2, brokers killed within a transaction): such a
// partition begins with the oldest record.
void KafkaConsumer::ReadCommitted(rd_kafka_topic_partition_list_t* partitions) {
  const auto error =
      rd_kafka_committed(handle_.get(), partitions, ToKafkaTimeout(kCommittedTimeout));
  const bool known = error == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (!known)
    spdlog::warn("kafka: committed offsets are not known yet group={} error={}", group_,
                 rd_kafka_err2name(error));
  if (!known && listener_ == nullptr) return;
  for (rd_kafka_topic_partition_t& partition : PartitionsOf(*partitions)) {
    if (!known || partition.offset < 0) partition.offset = RD_KAFKA_OFFSET_BEGINNING;
  }
}

// The listener's word, else the commit, else the beginning. A position of 0 is right until the
// first record or the partition's end tells better.
void KafkaConsumer::ChooseStarts(rd_kafka_topic_partition_list_t* partitions) {
  for (rd_kafka_topic_partition_t& partition : PartitionsOf(*partitions)) {
    const TopicPartition name = PartitionOf(partition);
    if (listener_ != nullptr) {
      if (const auto start = listener_->OnPartitionAssigned(name)) partition.offset = *start;
    }
    if (group_.empty() && partition.offset == RD_KAFKA_OFFSET_INVALID)
      partition.offset = RD_KAFKA_OFFSET_BEGINNING;
    positions_[name] = std::max<int64_t>(partition.offset, 0);
    behind_.erase(name);
    paused_.erase(name);
  }
}

// Records of these partitions that are still with us belong to their next owner.
void KafkaConsumer::Revoked(const rd_kafka_topic_partition_list_t* partitions) {
  const bool lost = rd_kafka_assignment_lost(handle_.get()) != 0;
  for (const rd_kafka_topic_partition_t& partition : PartitionsOf(*partitions)) {
    const TopicPartition name = PartitionOf(partition);
    DropPending(name);
    if (listener_ != nullptr) listener_->OnPartitionRevoked(name, lost);
    positions_.erase(name);
  }
}

void KafkaConsumer::DropPending(const TopicPartition& partition) {
  std::erase_if(pending_, [&](const ConsumerRecord& record) {
    return record.partition == partition.partition && record.topic == partition.topic;
  });
  ends_.erase(partition);
  damage_search_.Forget(partition);
  found_.erase(partition);
}

absl::Status KafkaConsumer::Take(const rd_kafka_message_t& message) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) return TakeError(message);
  NoteAnswer();
  const TopicPartition partition{rd_kafka_topic_name(message.rkt), message.partition};
  const auto position = positions_.find(partition);
  // What was on its way when the partition was taken from us, or before a seek.
  if (position == positions_.end() || message.offset < position->second) return absl::OkStatus();
  if (!damage_search_.empty()) damage_search_.Hear(partition);
  // Behind damaged records: it is read once they are skipped.
  const std::optional<int64_t> damage = damage_search_.BeginOf(partition);
  if (found_.contains(partition) || (damage && message.offset >= *damage)) return absl::OkStatus();
  pending_.push_back(ReadKafkaRecord(message, partition));
  return absl::OkStatus();
}

absl::Status KafkaConsumer::Assign(const std::map<TopicPartition, int64_t>& starts) {
  if (!topics_.empty())
    return absl::FailedPreconditionError("this consumer has subscribed already: make another one");
  for (const auto& [partition, start] : starts) {
    const absl::StatusOr<KafkaTopicState> state =
        started_ ? KafkaTopicState{.partitions = partition.partition + 1}
                 : DescribeKafkaTopic(handle_.get(), partition.topic, request_timeout_, *this);
    if (!state.ok()) return state.status();
    if (partition.partition >= state->partitions) return UnknownPartitionError(partition);
  }
  if (!std::exchange(started_, true)) rd_kafka_poll_set_consumer(handle_.get());
  pending_.clear();
  ends_.clear();
  damage_search_.Clear();
  found_.clear();
  paused_.clear();
  positions_ = starts;
  const KafkaPartitionList list = MakePartitionList(starts.size());
  for (const auto& [partition, start] : starts) AddPartition(list, partition, start);
  return KafkaStatus(rd_kafka_assign(handle_.get(), starts.empty() ? nullptr : list.get()),
                     "take the partitions");
}

absl::Status KafkaConsumer::Pause(const TopicPartition& partition) {
  if (!positions_.contains(partition)) return UnassignedPartitionError(partition);
  const size_t pending = pending_.size();
  DropPending(partition);
  if (pending_.size() < pending) behind_.insert(partition);  // Resume goes back to the position
  paused_.insert(partition);
  const KafkaPartitionList one = MakePartitionList();
  AddPartition(one, partition, RD_KAFKA_OFFSET_INVALID);
  return KafkaStatus(rd_kafka_pause_partitions(handle_.get(), one.get()),
                     fmt::format("pause {}", NameOf(partition)));
}

absl::Status KafkaConsumer::Resume(const TopicPartition& partition) {
  const auto position = positions_.find(partition);
  if (position == positions_.end()) return UnassignedPartitionError(partition);
  const KafkaPartitionList one = MakePartitionList();
  AddPartition(one, partition, RD_KAFKA_OFFSET_INVALID);
  if (const auto error = rd_kafka_resume_partitions(handle_.get(), one.get()))
    return KafkaStatus(error, fmt::format("resume {}", NameOf(partition)));
  paused_.erase(partition);
  return behind_.contains(partition) ? Seek(partition, position->second) : absl::OkStatus();
}

absl::Status KafkaConsumer::Seek(const TopicPartition& partition, int64_t offset) {
  const auto position = positions_.find(partition);
  if (position == positions_.end()) return UnassignedPartitionError(partition);
  if (offset < 0) return absl::InvalidArgumentError(fmt::format("offset {} is negative", offset));
  const std::string doing = fmt::format("seek to {} in {}", offset, NameOf(partition));
  const KafkaTopicHandle topic(rd_kafka_topic_new(handle_.get(), partition.topic.c_str(), nullptr));
  if (topic == nullptr) return KafkaStatus(rd_kafka_last_error(), doing);
  const auto deadline = Clock::now() + request_timeout_;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  while (true) {
    error =
        rd_kafka_seek(topic.get(), partition.partition, offset, ToKafkaTimeout(request_timeout_));
    if (error != RD_KAFKA_RESP_ERR__STATE && error != RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS) break;
    // Right after an assignment the partition is not being fetched yet. Where it stays so, it was
    // taken from us or we are fenced off: the next Poll settles it.
    const bool fenced =
        rd_kafka_fatal_error(handle_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
    if (fenced || Clock::now() >= deadline)
      return absl::UnavailableError(doing + ": it is not fetched");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaStatus(error, doing);
  DropPending(partition);
  behind_.erase(partition);
  position->second = offset;
  return absl::OkStatus();
}

absl::StatusOr<int64_t> KafkaConsumer::Position(const TopicPartition& partition) {
  const auto position = positions_.find(partition);
  if (position == positions_.end()) return UnassignedPartitionError(partition);
  return position->second;
}

// The oldest offset and one past the last that this consumer may see: for read_committed the end of
// the last finished transaction.
absl::StatusOr<std::pair<int64_t, int64_t>> KafkaConsumer::Watermarks(
    const TopicPartition& partition) {
  if (!started_) rd_kafka_poll(handle_.get(), 0);  // it may never be polled for records
  std::pair<int64_t, int64_t> watermarks;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  // A topic that was just made is not known to its broker as the leader's yet.
  for (int tries = 0; tries < kWatermarkTries; ++tries) {
    error = rd_kafka_query_watermark_offsets(handle_.get(), partition.topic.c_str(),
                                             partition.partition, &watermarks.first,
                                             &watermarks.second, ToKafkaTimeout(request_timeout_));
    if (error != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return KafkaStatus(error, fmt::format("find the end of {}", NameOf(partition)));
  return watermarks;
}

absl::StatusOr<int64_t> KafkaConsumer::EndOffset(const TopicPartition& partition) {
  const auto watermarks = Watermarks(partition);
  if (!watermarks.ok()) return watermarks.status();
  return watermarks->second;
}

absl::StatusOr<int64_t> KafkaConsumer::OffsetForTime(const TopicPartition& partition,
                                                     int64_t timestamp_ms) {
  const KafkaPartitionList list = MakePartitionList();
  AddPartition(list, partition, std::max<int64_t>(timestamp_ms, 0));
  rd_kafka_resp_err_t error =
      rd_kafka_offsets_for_times(handle_.get(), list.get(), ToKafkaTimeout(request_timeout_));
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = list->elems[0].err;
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return KafkaStatus(error, fmt::format("find a time in {}", NameOf(partition)));
  if (list->elems[0].offset < 0) return EndOffset(partition);
  return list->elems[0].offset;
}

absl::Status KafkaConsumer::CheckMembership() {
  if (group_.empty()) return absl::OkStatus();
  if (rd_kafka_assignment_lost(handle_.get()) != 0)
    return absl::UnavailableError(
        fmt::format("group {} has given our partitions away: polling again", group_));
  if (Clock::now() - polled_at_ <= session_timeout_) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("not polled for longer than a session ({} ms): group {} may have given our "
                  "partitions away, polling again",
                  session_timeout_.count(), group_));
}

absl::StatusOr<std::string> KafkaConsumer::GroupMetadata() {
  if (group_.empty()) return std::string();
  const KafkaGroupMetadata metadata(rd_kafka_consumer_group_metadata(handle_.get()));
  if (metadata == nullptr) return absl::UnavailableError("not a member of the group yet");
  void* bytes = nullptr;
  size_t size = 0;
  const KafkaError error(rd_kafka_consumer_group_metadata_write(metadata.get(), &bytes, &size));
  if (error != nullptr) return absl::InternalError(rd_kafka_error_string(error.get()));
  std::string written(static_cast<const char*>(bytes), size);
  rd_kafka_mem_free(handle_.get(), bytes);
  return written;
}

absl::Status KafkaConsumer::Commit(const GroupOffsets& offsets) {
  if (group_.empty() || offsets.empty()) return absl::OkStatus();
  const std::string doing = fmt::format("commit for group {}", group_);
  const KafkaPartitionList list = MakeGroupOffsets(offsets);
  // Through a queue of its own: the plain synchronous call waits without limit.
  const KafkaQueue answers(rd_kafka_queue_new(handle_.get()));
  rd_kafka_resp_err_t error =
      rd_kafka_commit_queue(handle_.get(), list.get(), answers.get(), nullptr, nullptr);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaStatus(error, doing);
  const KafkaEvent answer(rd_kafka_queue_poll(answers.get(), ToKafkaTimeout(request_timeout_)));
  if (answer == nullptr)
    return down() ? DownStatus() : KafkaStatus(RD_KAFKA_RESP_ERR__TIMED_OUT, doing);
  error = rd_kafka_event_error(answer.get());
  if (const rd_kafka_topic_partition_list_t* results =
          rd_kafka_event_topic_partition_list(answer.get())) {
    for (int i = 0; i < results->cnt && error == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
      error = results->elems[i].err;
  }
  return KafkaStatus(error, doing);
}

std::vector<TopicPartition> KafkaConsumer::Assignment() const {
  std::vector<TopicPartition> partitions;
  for (const auto& [partition, position] : positions_) partitions.push_back(partition);
  return partitions;
}

ClientMeasures KafkaConsumer::Measure() const {
  KafkaStatistics known = statistics();
  for (const auto& [partition, position] : positions_) {
    const auto bounds = known.bounds.find(partition);
    if (bounds == known.bounds.end()) continue;
    // Until the first record the position may be before all that retention has left.
    const int64_t next = std::max(bounds->second.first, position);
    int64_t& lag = known.client.lag_records.emplace(known.client.lag_records.value_or(0));
    lag += std::max<int64_t>(0, bounds->second.end - next);
    known.client.held_records +=
        static_cast<uint64_t>(bounds->second.end - bounds->second.stable_end);
  }
  known.client.held_seconds = static_cast<uint64_t>(transactions_.longest(Clock::now()).count());
  return known.client;
}

}  // namespace eroica
