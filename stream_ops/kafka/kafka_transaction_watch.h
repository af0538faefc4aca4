// Transactions that stay open on the partitions that a consumer reads: nothing behind the last
// stable offset is read before they end, and a broker that has lost track of one never ends it.
// Says so in the log after half a minute. Asks no clock. One thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "stream_ops/kafka/kafka_statistics.h"

namespace eroica {

class KafkaTransactionWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kSaidAfter{30};
  static constexpr std::chrono::minutes kSaidAgainAfter{5};

  // bootstrap_servers: for what the lines advise.
  explicit KafkaTransactionWatch(std::string bootstrap_servers)
      : bootstrap_servers_(std::move(bootstrap_servers)) {}

  // What is known of the partitions now. Answers with the line that is due, if one is.
  std::optional<std::string> Observe(
      const std::map<TopicPartition, KafkaStatistics::Bounds>& bounds, TimePoint now);
  // How long the last stable offset of the partition that has waited longest has stood still, with
  // records behind it.
  std::chrono::seconds longest(TimePoint now) const;

 private:
  struct Held {
    int64_t stable_end = 0;
    TimePoint since;
    std::optional<TimePoint> said_at;
  };

  const std::string bootstrap_servers_;
  std::map<TopicPartition, Held> held_;
};

}  // namespace eroica
