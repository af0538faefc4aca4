// Columns of unsigned LEB128 varints: seven bits a byte, lowest first, the top bit set on all bytes
// but a value's last. Fast because a batch holds three long ones: eight values are read or written
// at a time, and bits are gathered and spread without a branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/drop_reason.h"

namespace eroica {

// Small negative numbers become small unsigned ones: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Writes one column at a time. Its memory is kept from column to column.
class VarintColumnWriter {
 public:
  // A column of `count` values, the i-th being value(i). The bytes live until the next call.
  template <typename F>
  std::span<const uint8_t> Write(size_t count, F value) {
    // a value; what is stored at once may reach over the end of the last
    constexpr size_t kBytesMax = 10;
    if (buffer_.size() < (count + 1) * kBytesMax) buffer_.resize((count + 1) * kBytesMax);
    uint8_t* next = buffer_.data();
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      uint64_t values[8];
      for (size_t k = 0; k < 8; ++k) values[k] = value(i + k);
      next = AppendEight(values, next);
    }
    for (; i < count; ++i) next = Append(value(i), next);
    return {buffer_.data(), static_cast<size_t>(next - buffer_.data())};
  }

 private:
  // Both return the end of what they wrote.
  static uint8_t* Append(uint64_t value, uint8_t* next);
  static uint8_t* AppendEight(std::span<const uint64_t, 8> values, uint8_t* next);

  std::vector<uint8_t> buffer_;
};

// Reads exactly values.size() values, which must be exactly what the column holds. kColumnLength:
// it holds more, fewer, half a value, or one beyond 64 bits. kIndexOutOfRange: a value is too large
// for T. T is uint32_t or uint64_t.
template <typename T>
DropReason ReadVarints(std::span<const uint8_t> column, std::span<T> values);

}  // namespace eroica
