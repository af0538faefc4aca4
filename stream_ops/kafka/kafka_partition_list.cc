#include "stream_ops/kafka/kafka_partition_list.h"

#include <fmt/format.h>

namespace eroica {

KafkaPartitionList MakePartitionList(size_t size) {
  return KafkaPartitionList(rd_kafka_topic_partition_list_new(static_cast<int>(size)));
}

rd_kafka_topic_partition_t& AddPartition(const KafkaPartitionList& list,
                                         const TopicPartition& partition, int64_t offset) {
  rd_kafka_topic_partition_t* const added =
      rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition);
  added->offset = offset;
  return *added;
}

KafkaPartitionList ListPartitions(const std::string& topic, int32_t count, int64_t offset) {
  KafkaPartitionList list = MakePartitionList(static_cast<size_t>(count));
  for (int32_t partition = 0; partition < count; ++partition)
    AddPartition(list, {topic, partition}, offset);
  return list;
}

std::span<rd_kafka_topic_partition_t> PartitionsOf(const rd_kafka_topic_partition_list_t& list) {
  return {list.elems, static_cast<size_t>(list.cnt)};
}

TopicPartition PartitionOf(const rd_kafka_topic_partition_t& partition) {
  return {partition.topic, partition.partition};
}

std::string NameOf(const TopicPartition& partition) {
  return fmt::format("{}/{}", partition.topic, partition.partition);
}

std::string NamesOf(const rd_kafka_topic_partition_list_t& list) {
  std::string names;
  for (const rd_kafka_topic_partition_t& partition : PartitionsOf(list))
    names += (names.empty() ? "" : " ") + NameOf(PartitionOf(partition));
  return names.empty() ? "nothing" : names;
}

}  // namespace eroica
