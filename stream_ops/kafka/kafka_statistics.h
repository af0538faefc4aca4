// What librdkafka says of a client every statistics.interval.ms (its STATISTICS.md): the part that
// we show. Pure function, any thread.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "stream_ops/log/client_measures.h"
#include "stream_ops/log/log.h"

namespace eroica {

struct KafkaStatistics {
  ClientMeasures client;  // without its lag
  // The last stable offset of each partition, as of the latest fetch; the partitions of which
  // nothing has been fetched yet are left out.
  std::map<TopicPartition, int64_t> stable_ends;
};

// Nothing where it is no such JSON.
std::optional<KafkaStatistics> ParseKafkaStatistics(std::string_view json);

}  // namespace eroica
