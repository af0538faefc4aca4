// The input of a fuzz target as a source of numbers: what follows the end is 0. Every byte is used
// on its own, so that a changed byte changes one number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/codec.h"

namespace eroica {

class FuzzBytes {
 public:
  explicit FuzzBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  bool Flag() { return Byte() % 2 == 1; }
  uint64_t Word() {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | Byte();
    return word;
  }
  std::span<const uint8_t> Take(size_t size) {
    const auto taken = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

  // 0 .. most: mostly a few, some as many as are allowed.
  uint32_t Count(uint32_t most) {
    const uint8_t byte = Byte();
    if (byte >= 0xfe) return byte == 0xff ? most : most / 2 + 1;
    return std::min<uint32_t>(byte % 6, most);
  }
  uint32_t Below(uint32_t bound) { return bound == 0 ? 0 : Byte() % bound; }
  template <typename E>
  E Enum(int count) {
    return static_cast<E>(Byte() % count);
  }
  // A moment, a duration or a step: what jobs have, and what is allowed at most.
  int64_t Time() {
    switch (Byte() % 8) {
      case 0: return 0;
      case 1: return Byte();
      case 2: return int64_t{Byte()} * 1'000'000;
      case 3: return int64_t{Byte()} * 100'000'000;
      case 4: return int64_t{Byte()} * 1'000'000'000;
      case 5: return (int64_t{1} << 50) + Byte();
      case 6: return CodecLimits::kMaxTimeNs - Byte();
      default: return static_cast<int64_t>(Word() >> 2) % CodecLimits::kMaxTimeNs;
    }
  }
  int64_t Step() { return Byte() % 8 == 0 ? Time() - 1 : Byte(); }
  // A counter.
  uint64_t Number() {
    const uint8_t byte = Byte();
    if (byte >= 0xfe) return ~uint64_t{0} - (0xff - byte);
    return byte >= 0xf0 ? Word() : byte;
  }
  double Share() { return static_cast<double>(Byte()) / 255; }
  double Finite() {
    switch (Byte() % 4) {
      case 0: return static_cast<double>(Time());
      case 1: return 1e308;
      case 2: return -1e308;
      default: return Byte();
    }
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace eroica
