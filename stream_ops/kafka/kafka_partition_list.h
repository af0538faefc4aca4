// librdkafka's lists of partitions. Included only by the .cc files of this folder.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "stream_ops/kafka/kafka_handles.h"
#include "stream_ops/log/log.h"

namespace eroica {

// Empty, with room for so many.
KafkaPartitionList MakePartitionList(size_t size = 1);
// All of a topic's, each with this offset.
KafkaPartitionList ListPartitions(const std::string& topic, int32_t count, int64_t offset);
// The reference is good until the next one is added.
rd_kafka_topic_partition_t& AddPartition(const KafkaPartitionList& list,
                                         const TopicPartition& partition, int64_t offset);

std::span<rd_kafka_topic_partition_t> PartitionsOf(const rd_kafka_topic_partition_list_t& list);
TopicPartition PartitionOf(const rd_kafka_topic_partition_t& partition);

// "topic/3"
std::string NameOf(const TopicPartition& partition);
// "topic/3 topic/4", or "nothing"
std::string NamesOf(const rd_kafka_topic_partition_list_t& list);

}  // namespace eroica
