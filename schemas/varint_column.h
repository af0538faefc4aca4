// Columns of unsigned LEB128 varints: seven bits a byte, lowest first, the top bit set on all bytes but a value's last. Fast because a
// batch holds three of them: eight bytes are read or written at once, and the bits of a value are gathered or spread without a branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "schemas/drop_reason.h"

namespace eroica {

// Small negative numbers become small unsigned ones: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
constexpr uint64_t ZigZag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
constexpr int64_t UnZigZag(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1)); }

// Writes one column. Its memory is kept from column to column; the bytes live until the next Start.
class VarintColumnWriter {
 public:
  static constexpr size_t kMaxBytesPerValue = 10;

  // No more than `count` values may be appended.
  void Start(size_t count) {
    if (buffer_.size() < count * kMaxBytesPerValue + sizeof(uint64_t)) buffer_.resize(count * kMaxBytesPerValue + sizeof(uint64_t));
    next_ = buffer_.data();
  }
  void Append(uint64_t value);
  std::span<const uint8_t> bytes() const { return {buffer_.data(), static_cast<size_t>(next_ - buffer_.data())}; }

 private:
  void AppendLong(uint64_t value);

  std::vector<uint8_t> buffer_;
  uint8_t* next_ = nullptr;
};

// Reads exactly values.size() values, which must be exactly what the column holds. kColumnLength: it holds more, fewer, half a value, or
// one beyond 64 bits. kIndexOutOfRange: a value is too large for T. T is uint32_t or uint64_t.
template <typename T>
DropReason ReadVarints(std::span<const uint8_t> column, std::span<T> values);

inline void VarintColumnWriter::Append(uint64_t value) {
  if (value >> 56 != 0) return AppendLong(value);
  uint64_t x = value;
  x = (x & 0x000000000fffffff) | ((x & 0x00fffffff0000000) << 4);
  x = (x & 0x00003fff00003fff) | ((x & 0x0fffc0000fffc000) << 2);
  x = (x & 0x007f007f007f007f) | ((x & 0x3f803f803f803f80) << 1);
  const int bits = 64 - __builtin_clzll(value | 1);
  const int length = ((bits + 6) * 37) >> 8;  // ceil(bits / 7), exact up to 63 bits
  x |= 0x8080808080808080 & ((uint64_t{1} << (8 * (length - 1))) - 1);
  std::memcpy(next_, &x, sizeof x);
  next_ += length;
}

}  // namespace eroica
