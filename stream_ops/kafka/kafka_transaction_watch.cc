#include "stream_ops/kafka/kafka_transaction_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace eroica {

std::optional<std::string> KafkaTransactionWatch::Observe(
    const std::map<TopicPartition, KafkaStatistics::Bounds>& bounds, TimePoint now) {
  std::erase_if(held_, [&](const auto& held) {
    const auto known = bounds.find(held.first);
    return known == bounds.end() || known->second.end <= known->second.stable_end;
  });
  std::optional<std::string> line;
  for (const auto& [partition, known] : bounds) {
    if (known.end <= known.stable_end) continue;
    const auto [entry, is_new] = held_.try_emplace(partition);
    Held& held = entry->second;
    if (is_new || held.stable_end != known.stable_end)
      held = {.stable_end = known.stable_end, .since = now, .said_at = std::nullopt};
    const bool due =
        held.said_at ? now - *held.said_at >= kSaidAgainAfter : now - held.since >= kSaidAfter;
    if (!due || line) continue;
    held.said_at = now;
    line = fmt::format(
        "kafka: a transaction is open and holds records back partition={}/{} "
        "last_stable_offset={} high_watermark={} seconds={}: if its producer is gone, end it by "
        "kafka-transactions.sh --bootstrap-server {} abort --topic {} --partition {} "
        "--start-offset {}",
        partition.topic, partition.partition, known.stable_end, known.end,
        std::chrono::duration_cast<std::chrono::seconds>(now - held.since).count(),
        bootstrap_servers_, partition.topic, partition.partition, known.stable_end);
  }
  return line;
}

std::chrono::seconds KafkaTransactionWatch::longest(TimePoint now) const {
  std::chrono::seconds longest{0};
  for (const auto& [partition, held] : held_)
    longest = std::max(longest, std::chrono::duration_cast<std::chrono::seconds>(now - held.since));
  return longest;
}

}  // namespace eroica
