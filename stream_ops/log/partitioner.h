// Which partition a key belongs to: Kafka's default partitioner (murmur2 over the key, sign bit
// cleared, modulo partitions), so that every client agrees with us. An empty key is hashed like any
// other, so that its records keep their order.
#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

uint32_t Murmur2(std::string_view key);
// partitions: at least 1.
int32_t PartitionForKey(std::string_view key, int32_t partitions);

}  // namespace eroica
