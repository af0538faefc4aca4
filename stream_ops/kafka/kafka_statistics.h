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
  // Of each partition, as of the latest fetch: the first offset that is there and not handed out
  // yet, the last stable one, and the high watermark, which lies behind it while a transaction is
  // open. Partitions of which nothing has been fetched yet are left out.
  struct Bounds {
    int64_t first = 0;
    int64_t stable_end = 0;
    int64_t end = 0;
    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  std::map<TopicPartition, Bounds> bounds;
};

// Nothing where it is no such JSON.
std::optional<KafkaStatistics> ParseKafkaStatistics(std::string_view json);

}  // namespace eroica
