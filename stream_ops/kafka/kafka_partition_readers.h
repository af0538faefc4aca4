// Readers of single Kafka partitions, each at its own pace, for a SliceReader: what one of them has
// not taken yet holds no other up, and is bounded in memory. They share one client, belong to no
// group and commit nothing. All readers of one opener are for one thread.
#pragma once

#include <cstddef>

#include "stream_ops/kafka/kafka_options.h"
#include "stream_ops/log/slice_reader.h"

namespace eroica {

inline constexpr size_t kFetchedBytes = size_t{256} << 20;

// fetched_bytes: what is fetched ahead, of all partitions together.
OpenReaders KafkaReaders(const KafkaOptions& options, size_t fetched_bytes = kFetchedBytes);

}  // namespace eroica
