#include "schemas/varint_column.h"

#include <bit>
#include <limits>

namespace eroica {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are read and written a word at a time");

constexpr uint64_t kStopBits = 0x8080808080808080;

uint64_t LoadWord(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The seven low bits of each of the eight bytes, side by side.
uint64_t GatherBits(uint64_t x) {
  x = (x & 0x007f007f007f007f) | ((x & 0x7f007f007f007f00) >> 1);
  x = (x & 0x00003fff00003fff) | ((x & 0x3fff00003fff0000) >> 2);
  return (x & 0x000000000fffffff) | ((x & 0x0fffffff00000000) >> 4);
}

// One value, byte by byte, with every bound checked: for the end of a column and for values longer than eight bytes. nullptr: malformed.
const uint8_t* ReadOne(const uint8_t* next, const uint8_t* end, uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && next != end; shift += 7) {
    const uint8_t byte = *next++;
    if (shift == 63 && byte > 1) return nullptr;
    result |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      *value = result;
      return next;
    }
  }
  return nullptr;
}

// Reads whole words while eight bytes and eight values are left, so that nothing is checked within a word. Returns what is not read yet.
template <typename T>
const uint8_t* ReadWords(const uint8_t* next, const uint8_t* end, T** out, const T* out_end, uint64_t* largest) {
  T* values = *out;
  uint64_t seen = 0;
  while (end - next >= 8 && out_end - values >= 8) {
    const uint64_t word = LoadWord(next);
    uint64_t stops = ~word & kStopBits;
    if (stops == kStopBits) {
      for (int i = 0; i < 8; ++i) values[i] = next[i];
      values += 8;
      next += 8;
      continue;
    }
    if (stops == 0) break;  // a value of more than eight bytes
    int begin = 0;
    do {
      const int stop = std::countr_zero(stops);
      const uint64_t value = GatherBits((word >> begin) & (~uint64_t{0} >> (63 - (stop - begin))));
      seen |= value;
      *values++ = static_cast<T>(value);
      begin = stop + 1;
      stops &= stops - 1;
    } while (stops != 0);
    next += begin / 8;
  }
  *out = values;
  *largest |= seen;
  return next;
}

}  // namespace

void VarintColumnWriter::AppendLong(uint64_t value) {
  while (value >= 0x80) {
    *next_++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *next_++ = static_cast<uint8_t>(value);
}

template <typename T>
DropReason ReadVarints(std::span<const uint8_t> column, std::span<T> values) {
  const uint8_t* next = column.data();
  const uint8_t* const end = next + column.size();
  T* out = values.data();
  T* const out_end = out + values.size();
  uint64_t largest = 0;  // the bits of all values: beyond T if and only if one of them is
  while (out != out_end) {
    next = ReadWords(next, end, &out, out_end, &largest);
    if (out == out_end) break;
    uint64_t value = 0;
    next = ReadOne(next, end, &value);
    if (next == nullptr) return DropReason::kColumnLength;
    largest |= value;
    *out++ = static_cast<T>(value);
  }
  if (next != end) return DropReason::kColumnLength;
  return largest > std::numeric_limits<T>::max() ? DropReason::kIndexOutOfRange : DropReason::kNone;
}

template DropReason ReadVarints<uint32_t>(std::span<const uint8_t>, std::span<uint32_t>);
template DropReason ReadVarints<uint64_t>(std::span<const uint8_t>, std::span<uint64_t>);

}  // namespace eroica
