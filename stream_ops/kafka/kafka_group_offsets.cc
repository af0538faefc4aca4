#include "stream_ops/kafka/kafka_group_offsets.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "stream_ops/kafka/kafka_partition_list.h"

namespace eroica {
namespace {

constexpr std::string_view kProcessed = "processed=";

}  // namespace

KafkaPartitionList MakeGroupOffsets(const GroupOffsets& offsets) {
  KafkaPartitionList list = MakePartitionList(offsets.size());
  for (const auto& [partition, offset] : offsets) {
    rd_kafka_topic_partition_t& added = AddPartition(list, partition, offset.next);
    const std::string metadata = std::string(kProcessed) + std::to_string(offset.processed);
    added.metadata = ::strdup(metadata.c_str());  // the list frees it
    added.metadata_size = metadata.size();
  }
  return list;
}

GroupOffsets ReadGroupOffsets(const rd_kafka_topic_partition_list_t& list) {
  GroupOffsets offsets;
  for (const rd_kafka_topic_partition_t& partition : PartitionsOf(list)) {
    if (partition.offset < 0) continue;
    GroupOffset offset(partition.offset);
    const std::string_view metadata(static_cast<const char*>(partition.metadata),
                                    partition.metadata == nullptr ? 0 : partition.metadata_size);
    if (metadata.starts_with(kProcessed)) {
      int64_t processed = 0;
      const std::string_view number = metadata.substr(kProcessed.size());
      std::from_chars(number.data(), number.data() + number.size(), processed);
      offset.processed = std::max(offset.next, processed);
    }
    offsets[PartitionOf(partition)] = offset;
  }
  return offsets;
}

}  // namespace eroica
