#include "stream_ops/log/partitioner.h"

#include "schemas/check.h"

namespace eroica {

namespace {

// The seed and constants are Kafka's (org.apache.kafka.common.utils.Utils.murmur2).
constexpr uint32_t kSeed = 0x9747b28c;
constexpr uint32_t kMultiplier = 0x5bd1e995;
constexpr int kShift = 24;

uint32_t ByteAt(std::string_view key, size_t index) { return static_cast<uint8_t>(key[index]); }

}  // namespace

uint32_t Murmur2(std::string_view key) {
  uint32_t hash = kSeed ^ static_cast<uint32_t>(key.size());
  size_t at = 0;
  for (; at + 4 <= key.size(); at += 4) {
    uint32_t word = ByteAt(key, at) | ByteAt(key, at + 1) << 8 | ByteAt(key, at + 2) << 16 |
                    ByteAt(key, at + 3) << 24;
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash *= kMultiplier;
    hash ^= word;
  }
  const size_t rest = key.size() - at;
  if (rest >= 3) hash ^= ByteAt(key, at + 2) << 16;
  if (rest >= 2) hash ^= ByteAt(key, at + 1) << 8;
  if (rest >= 1) {
    hash ^= ByteAt(key, at);
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return hash;
}

int32_t PartitionForKey(std::string_view key, int32_t partitions) {
  EROICA_CHECK(partitions >= 1);
  return static_cast<int32_t>((Murmur2(key) & 0x7fffffffu) % static_cast<uint32_t>(partitions));
}

}  // namespace eroica
