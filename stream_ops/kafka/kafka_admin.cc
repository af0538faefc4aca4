#include "stream_ops/kafka/kafka_admin.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <thread>

#include "stream_ops/kafka/kafka_error.h"
#include "stream_ops/kafka/kafka_group_offsets.h"
#include "stream_ops/kafka/kafka_partition_list.h"

namespace eroica {
namespace {

// A question is asked in steps, so that a cluster of which nobody answers is noticed before its
// timeout.
constexpr std::chrono::milliseconds kStep{500};

absl::Status FirstFailure(std::span<const rd_kafka_topic_result_t*> results,
                          std::string_view doing) {
  for (const rd_kafka_topic_result_t* result : results) {
    const char* why = rd_kafka_topic_result_error_string(result);
    absl::Status status =
        KafkaStatus(rd_kafka_topic_result_error(result), doing, why == nullptr ? "" : why);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status KafkaAdmin::Connect() {
  for (const auto& [group, client] : groups_) rd_kafka_poll(client.get(), 0);
  if (handle_ != nullptr) {
    rd_kafka_poll(handle_.get(), 0);
    return absl::OkStatus();
  }
  absl::StatusOr<KafkaHandle> handle =
      MakeKafkaHandle(options_, KafkaRole::kAdmin, {kNoStatistics}, this);
  if (!handle.ok()) return handle.status();
  handle_ = *std::move(handle);
  return absl::OkStatus();
}

// The answer to an admin request.
absl::StatusOr<KafkaEvent> KafkaAdmin::Await(rd_kafka_queue_t* answers, std::string_view doing) {
  for (std::chrono::milliseconds waited{0}; waited <= options_.request_timeout; waited += kStep) {
    KafkaEvent event(rd_kafka_queue_poll(answers, ToKafkaTimeout(kStep)));
    if (event != nullptr) {
      const rd_kafka_resp_err_t error = rd_kafka_event_error(event.get());
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
        return KafkaStatus(error, doing, rd_kafka_event_error_string(event.get()));
      NoteAnswer();
      return event;
    }
    rd_kafka_poll(handle_.get(), 0);
    if (down()) return DownStatus();
  }
  return KafkaStatus(RD_KAFKA_RESP_ERR__TIMED_OUT, doing);
}

absl::Status KafkaAdmin::CreateTopic(const TopicSpec& spec) {
  if (spec.name.empty() || spec.partitions < 1 || spec.replication_factor < 1) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}' needs a name, at least one partition and one replica, not {} and {}", spec.name,
        spec.partitions, spec.replication_factor));
  }
  const MutexLock lock(mutex_);
  if (absl::Status status = Connect(); !status.ok()) return status;
  const std::string doing = fmt::format("create topic {}", spec.name);
  char reason[512] = "";
  const KafkaNewTopic topic(rd_kafka_NewTopic_new(spec.name.c_str(), spec.partitions,
                                                  spec.replication_factor, reason, sizeof(reason)));
  if (topic == nullptr)
    return absl::InvalidArgumentError(fmt::format("cannot {}: {}", doing, reason));
  for (const auto& [name, value] : spec.config)
    rd_kafka_NewTopic_set_config(topic.get(), name.c_str(), value.c_str());

  const KafkaQueue answers(rd_kafka_queue_new(handle_.get()));
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(handle_.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), ToKafkaTimeout(options_.request_timeout),
                                            reason, sizeof(reason));
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  rd_kafka_CreateTopics(handle_.get(), topics, 1, options.get(), answers.get());
  const absl::StatusOr<KafkaEvent> event = Await(answers.get(), doing);
  if (!event.ok()) return event.status();
  size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event->get()), &count);
  if (absl::Status status = FirstFailure(std::span(results, count), doing); !status.ok())
    return status;
  return AwaitLeaders(spec.name);
}

// The controller knows a topic before every broker does.
absl::Status KafkaAdmin::AwaitLeaders(const std::string& topic) {
  const auto deadline = std::chrono::steady_clock::now() + options_.request_timeout;
  while (true) {
    const absl::StatusOr<KafkaTopicState> state =
        DescribeKafkaTopic(handle_.get(), topic, options_.request_timeout, *this);
    if (state.ok() && state->has_leaders) return absl::OkStatus();
    if (!state.ok() && !absl::IsNotFound(state.status())) return state.status();
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::UnavailableError(fmt::format(
          "topic {} is made, but not all of its partitions have a leader yet: look at the brokers",
          topic));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

absl::Status KafkaAdmin::DeleteTopic(const std::string& name) {
  const MutexLock lock(mutex_);
  if (absl::Status status = Connect(); !status.ok()) return status;
  const std::string doing = fmt::format("delete topic {}", name);
  const KafkaDeleteTopic topic(rd_kafka_DeleteTopic_new(name.c_str()));
  const KafkaQueue answers(rd_kafka_queue_new(handle_.get()));
  rd_kafka_DeleteTopic_t* topics[] = {topic.get()};
  rd_kafka_DeleteTopics(handle_.get(), topics, 1, nullptr, answers.get());
  const absl::StatusOr<KafkaEvent> event = Await(answers.get(), doing);
  if (!event.ok()) return event.status();
  size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event->get()), &count);
  return FirstFailure(std::span(results, count), doing);
}

absl::StatusOr<TopicSpec> KafkaAdmin::DescribeTopic(const std::string& name) {
  const MutexLock lock(mutex_);
  if (absl::Status status = Connect(); !status.ok()) return status;
  const absl::StatusOr<KafkaTopicState> state =
      DescribeKafkaTopic(handle_.get(), name, options_.request_timeout, *this);
  if (!state.ok()) return state.status();
  TopicSpec spec{.name = name,
                 .partitions = state->partitions,
                 .config = {},
                 .replication_factor = state->replication_factor};
  absl::StatusOr<std::map<std::string, std::string>> config = DescribeConfig(name);
  if (config.ok()) {
    spec.config = *std::move(config);
  } else if (absl::IsPermissionDenied(config.status())) {
    spdlog::info("kafka: {}", std::string(config.status().message()));
  } else {
    return config.status();
  }
  return spec;
}

// As the group's members ask: librdkafka's ListConsumerGroupOffsets ends the process where the
// coordinator has moved or is still loading (2.0.2, and open in 2026: its issue 5040).
absl::StatusOr<rd_kafka_t*> KafkaAdmin::ClientOf(const std::string& group) {
  KafkaNonMember& client = groups_[group];
  if (client == nullptr) {
    // What a transaction in progress commits is not waited for.
    absl::StatusOr<KafkaHandle> handle = MakeKafkaHandle(
        options_, KafkaRole::kAdmin,
        {kNoStatistics, {"group.id", group}, {"isolation.level", "read_uncommitted"}}, this);
    if (!handle.ok()) return handle.status();
    client.reset(handle->release());
  }
  return client.get();
}

absl::StatusOr<GroupOffsets> KafkaAdmin::DescribeGroup(const std::string& group,
                                                       const std::string& topic) {
  const MutexLock lock(mutex_);
  if (absl::Status status = Connect(); !status.ok()) return status;
  const absl::StatusOr<KafkaTopicState> state =
      DescribeKafkaTopic(handle_.get(), topic, options_.request_timeout, *this);
  if (!state.ok()) return state.status();
  const absl::StatusOr<rd_kafka_t*> client = ClientOf(group);
  if (!client.ok()) return client.status();
  const std::string doing = fmt::format("read the offsets of group {}", group);
  const KafkaPartitionList list = ListPartitions(topic, state->partitions, RD_KAFKA_OFFSET_INVALID);
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
  for (auto waited = kStep; waited <= options_.request_timeout; waited += kStep) {
    error = rd_kafka_committed(*client, list.get(), ToKafkaTimeout(kStep));
    if (KafkaErrorCode(error) != absl::StatusCode::kUnavailable) break;
    rd_kafka_poll(*client, 0);  // hears of brokers that are down
    if (down()) return DownStatus();
  }
  for (const rd_kafka_topic_partition_t& partition : PartitionsOf(*list)) {
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = partition.err;
  }
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaStatus(error, doing);
  NoteAnswer();
  return ReadGroupOffsets(*list);
}

absl::StatusOr<std::map<TopicPartition, int64_t>> KafkaAdmin::EndOffsets(const std::string& topic) {
  const MutexLock lock(mutex_);
  if (absl::Status status = Connect(); !status.ok()) return status;
  const absl::StatusOr<KafkaTopicState> state =
      DescribeKafkaTopic(handle_.get(), topic, options_.request_timeout, *this);
  if (!state.ok()) return state.status();
  const std::string doing = fmt::format("find the ends of {}", topic);
  const KafkaPartitionList list = ListPartitions(topic, state->partitions, RD_KAFKA_OFFSET_END);
  if (const auto error = rd_kafka_offsets_for_times(handle_.get(), list.get(),
                                                    ToKafkaTimeout(options_.request_timeout)))
    return KafkaStatus(error, doing);
  std::map<TopicPartition, int64_t> ends;
  for (const rd_kafka_topic_partition_t& partition : PartitionsOf(*list)) {
    if (partition.err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return KafkaStatus(partition.err,
                         fmt::format("find the end of {}", NameOf(PartitionOf(partition))));
    ends[PartitionOf(partition)] = partition.offset;
  }
  NoteAnswer();
  return ends;
}

absl::StatusOr<std::map<std::string, std::string>> KafkaAdmin::DescribeConfig(
    const std::string& topic) {
  const std::string doing = fmt::format("read the settings of topic {}", topic);
  const KafkaConfigResource resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const KafkaQueue answers(rd_kafka_queue_new(handle_.get()));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  rd_kafka_DescribeConfigs(handle_.get(), resources, 1, nullptr, answers.get());
  const absl::StatusOr<KafkaEvent> event = Await(answers.get(), doing);
  if (!event.ok()) return event.status();
  std::map<std::string, std::string> config;
  size_t count = 0;
  const rd_kafka_ConfigResource_t** results = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event->get()), &count);
  for (size_t i = 0; i < count; ++i) {
    const char* why = rd_kafka_ConfigResource_error_string(results[i]);
    if (absl::Status status = KafkaStatus(rd_kafka_ConfigResource_error(results[i]), doing,
                                          why == nullptr ? "" : why);
        !status.ok())
      return status;
    size_t entry_count = 0;
    const rd_kafka_ConfigEntry_t** entries =
        rd_kafka_ConfigResource_configs(results[i], &entry_count);
    for (size_t j = 0; j < entry_count; ++j) {
      const char* value = rd_kafka_ConfigEntry_value(entries[j]);
      if (value != nullptr && rd_kafka_ConfigEntry_is_sensitive(entries[j]) <= 0)
        config[rd_kafka_ConfigEntry_name(entries[j])] = value;
    }
  }
  return config;
}

}  // namespace eroica
