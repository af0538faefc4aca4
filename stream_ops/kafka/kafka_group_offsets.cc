#include "stream_ops/kafka/kafka_group_offsets.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

namespace eroica {
namespace {

constexpr std::string_view kProcessed = "processed=";

}  // namespace

KafkaPartitionList MakeGroupOffsets(const GroupOffsets& offsets) {
  KafkaPartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
  for (const auto& [partition, offset] : offsets) {
    rd_kafka_topic_partition_t* const added =
        rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition);
    added->offset = offset.next;
    const std::string metadata = std::string(kProcessed) + std::to_string(offset.processed);
    added->metadata = ::strdup(metadata.c_str());  // the list frees it
    added->metadata_size = metadata.size();
  }
  return list;
}

GroupOffsets ReadGroupOffsets(const rd_kafka_topic_partition_list_t& list) {
  GroupOffsets offsets;
  for (const rd_kafka_topic_partition_t& partition :
       std::span(list.elems, static_cast<size_t>(list.cnt))) {
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
    offsets[{partition.topic, partition.partition}] = offset;
  }
  return offsets;
}

}  // namespace eroica
