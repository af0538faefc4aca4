// A group's offsets as Kafka keeps them: the offset that a restart reads from, and, as the commit's
// metadata, how far the input is processed. Included only by the .cc files of this folder.
#pragma once

#include "stream_ops/kafka/kafka_handles.h"
#include "stream_ops/log/log.h"

namespace eroica {

KafkaPartitionList MakeGroupOffsets(const GroupOffsets& offsets);
// Partitions without a commit are left out. Metadata that is not ours says nothing: what is
// processed is then the offset itself.
GroupOffsets ReadGroupOffsets(const rd_kafka_topic_partition_list_t& list);

}  // namespace eroica
