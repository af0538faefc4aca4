// What a log's client says of itself: how far a consumer is behind its partitions' ends, and how
// the library under it gets on. Plain numbers, as of a moment that is some seconds old at most;
// metrics show them. Kafka fills all in from librdkafka's statistics (statistics.interval.ms), the
// other logs their lag.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace eroica {

struct ClientMeasures {
  // Records before the ends of the assigned partitions that the consumer has not handed out. Kafka:
  // before the high watermark, records of open transactions among them. Nothing: not known (yet).
  std::optional<int64_t> lag_records;
  // Of these, behind the last stable offset: they are read when the transactions before them end.
  uint64_t held_records = 0;
  // How long one of these transactions has been open, at least: the longest, of all partitions.
  uint64_t held_seconds = 0;
  uint64_t queued_bytes = 0;      // fetched ahead, or not taken by the brokers yet
  uint64_t requests_waiting = 0;  // that brokers have not answered
  uint64_t request_errors = 0;    // since the client began, as the next three
  uint64_t request_retries = 0;
  uint64_t request_timeouts = 0;
  uint64_t disconnects = 0;
  double round_trip_p99_seconds = 0;  // of the slowest broker in the latest seconds

  // Of several clients together.
  void Add(const ClientMeasures& other) {
    if (other.lag_records) lag_records = lag_records.value_or(0) + *other.lag_records;
    held_records += other.held_records;
    held_seconds = std::max(held_seconds, other.held_seconds);
    queued_bytes += other.queued_bytes;
    requests_waiting += other.requests_waiting;
    request_errors += other.request_errors;
    request_retries += other.request_retries;
    request_timeouts += other.request_timeouts;
    disconnects += other.disconnects;
    round_trip_p99_seconds = std::max(round_trip_p99_seconds, other.round_trip_p99_seconds);
  }
};

}  // namespace eroica
