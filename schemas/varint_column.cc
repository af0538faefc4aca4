#include "schemas/varint_column.h"

#include <bit>
#include <cstring>
#include <limits>

namespace eroica {
namespace {

static_assert(std::endian::native == std::endian::little,
              "columns are read and written a word at a time");

constexpr uint64_t kStopBits = 0x8080808080808080;

uint64_t LoadWord(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// A bit for each of the first 32 bytes, set where a value ends. The product gathers the top bits of
// eight bytes in its top byte.
uint64_t EndsIn32Bytes(const uint8_t* bytes) {
  uint64_t ends = 0;
  for (size_t i = 0; i < 4; ++i)
    ends |= (((~LoadWord(bytes + 8 * i) & kStopBits) >> 7) * 0x0102040810204080 >> 56) << (8 * i);
  return ends;
}

// The value that begins at `bytes`, if it has at most eight bytes; else *too_long is set.
uint64_t LoadValue(const uint8_t* bytes, uint64_t* too_long) {
  uint64_t x = LoadWord(bytes);
  const uint64_t stops = ~x & kStopBits;
  *too_long |= static_cast<uint64_t>(stops == 0);
  x &= stops ^ (stops - 1);  // up to the first stop
  x = (x & 0x007f007f007f007f) | ((x & 0x7f007f007f007f00) >> 1);
  x = (x & 0x00003fff00003fff) | ((x & 0x3fff00003fff0000) >> 2);
  return (x & 0x000000000fffffff) | ((x & 0x0fffffff00000000) >> 4);
}

// Turns the four bytes at which each value begins into the value. False if one of them has more
// than four. Compiles to vector instructions.
bool CutShortValues(std::span<uint32_t, 8> words) {
  uint32_t too_long = 0;
  for (uint32_t& word : words) {
    const uint32_t stops = ~word & static_cast<uint32_t>(kStopBits);
    too_long |= stops == 0 ? 1u : 0u;
    uint32_t x = word & (stops ^ (stops - 1));
    x = (x & 0x007f007f) | ((x & 0x7f007f00) >> 1);
    word = (x & 0x00003fff) | ((x & 0x3fff0000) >> 2);
  }
  return too_long == 0;
}

// One value, byte by byte, with every bound checked: for the end of a column and for values longer
// than eight bytes. nullptr: malformed.
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

// Reads eight values at a time while they and the bytes that are looked at lie within bounds.
// Returns what is not read yet.
template <typename T>
const uint8_t* ReadEights(const uint8_t* next, const uint8_t* end, T** out, const T* out_end,
                          uint64_t* largest) {
  constexpr int kLookedAt = 32 + 8;  // a value may begin in the last of the 32 bytes
  T* values = *out;
  while (end - next >= kLookedAt && out_end - values >= 8) {
    uint64_t ends = EndsIn32Bytes(next);
    if ((ends & 0xff) == 0xff) {
      for (int i = 0; i < 8; ++i) values[i] = next[i];
      values += 8;
      next += 8;
      continue;
    }
    ends |= uint64_t{0xff} << 32;  // so that there are eight, some of them out of sight
    ends <<= 1;                    // now each bit is where the next value begins
    size_t begin[9];
    begin[0] = 0;
    for (int i = 1; i <= 8; ++i) {
      begin[i] = static_cast<unsigned>(std::countr_zero(ends));
      ends &= ends - 1;
    }
    if (begin[8] > 32) break;
    uint32_t words[8];
    for (int i = 0; i < 8; ++i) std::memcpy(&words[i], next + begin[i], sizeof words[i]);
    if (CutShortValues(words)) {
      for (int i = 0; i < 8; ++i) values[i] = words[i];
    } else {
      uint64_t too_long = 0;
      for (int i = 0; i < 8; ++i) {
        const uint64_t value = LoadValue(next + begin[i], &too_long);
        *largest |= value;
        values[i] = static_cast<T>(value);
      }
      if (too_long != 0) break;
    }
    values += 8;
    next += begin[8];
  }
  *out = values;
  return next;
}

}  // namespace

uint8_t* VarintColumnWriter::AppendEight(std::span<const uint64_t, 8> values, uint8_t* next) {
  uint64_t seen = 0;
  for (const uint64_t value : values) seen |= value;
  if (seen >> 28 != 0) {
    for (const uint64_t value : values) next = Append(value, next);
    return next;
  }
  uint32_t words[8];
  uint32_t lengths[8];
  for (size_t i = 0; i < 8;
       ++i) {  // vector instructions, for which a comparison is all ones or nothing
    const auto value = static_cast<int32_t>(values[i]);
    const uint32_t second = value > 0x7f ? ~0u : 0;
    const uint32_t third = value > 0x3fff ? ~0u : 0;
    const uint32_t fourth = value > 0x1fffff ? ~0u : 0;
    auto x = static_cast<uint32_t>(value);
    x = (x & 0x00003fff) | ((x & 0x0fffc000) << 2);
    x = (x & 0x007f007f) | ((x & 0x3f803f80) << 1);
    words[i] = x | (second & 0x80) | (third & 0x8000) | (fourth & 0x800000);
    lengths[i] = 1 - second - third - fourth;
  }
  for (int i = 0; i < 8; ++i) {
    std::memcpy(next, &words[i], sizeof words[i]);
    next += lengths[i];
  }
  return next;
}

uint8_t* VarintColumnWriter::Append(uint64_t value, uint8_t* next) {
  while (value >= 0x80) {
    *next++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *next++ = static_cast<uint8_t>(value);
  return next;
}

template <typename T>
DropReason ReadVarints(std::span<const uint8_t> column, std::span<T> values) {
  const uint8_t* next = column.data();
  const uint8_t* const end = next + column.size();
  T* out = values.data();
  T* const out_end = out + values.size();
  uint64_t largest = 0;  // the bits of all values: beyond T if and only if one of them is
  while (out != out_end) {
    next = ReadEights(next, end, &out, out_end, &largest);
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
