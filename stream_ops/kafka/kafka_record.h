// A record as librdkafka hands it out. Included only by the .cc files of this folder.
#pragma once

#include <librdkafka/rdkafka.h>

#include "stream_ops/log/log.h"

namespace eroica {

// A copy: librdkafka's message holds the whole answer of the broker that it came with.
ConsumerRecord ReadKafkaRecord(const rd_kafka_message_t& message, const TopicPartition& partition);

}  // namespace eroica
