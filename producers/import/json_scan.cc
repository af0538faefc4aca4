#include "producers/import/json_scan.h"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace eroica {
namespace {

// One bit a byte, the first byte in the lowest bit.
struct BlockMasks {
  uint64_t quote = 0;
  uint64_t backslash = 0;
  uint64_t open = 0;
  uint64_t close = 0;
};

#if defined(__SSE2__)
// '[' and '{', ']' and '}' differ in one bit only, so that one comparison finds both.
BlockMasks Classify(const char* block) {
  BlockMasks masks;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * i));
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const auto bits = [i](__m128i equal) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal))) << (16 * i);
    };
    masks.quote |= bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    masks.backslash |= bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    masks.open |= bits(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
    masks.close |= bits(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
  }
  return masks;
}
#else
BlockMasks Classify(const char* block) {
  BlockMasks masks;
  for (int i = 0; i < 64; ++i) {
    const char c = block[i];
    const uint64_t bit = uint64_t{1} << i;
    if (c == '"') masks.quote |= bit;
    if (c == '\\') masks.backslash |= bit;
    if (c == '{' || c == '[') masks.open |= bit;
    if (c == '}' || c == ']') masks.close |= bit;
  }
  return masks;
}
#endif

// Bits of the bytes that follow an unescaped backslash. *carry: whether the next block's first byte
// is one.
uint64_t EscapedBytes(uint64_t backslash, bool* carry) {
  uint64_t escaped = *carry ? 1 : 0;
  *carry = false;
  backslash &= ~escaped;
  while (backslash != 0) {
    const int at = std::countr_zero(backslash);
    if (at == 63) {
      *carry = true;
      break;
    }
    escaped |= uint64_t{1} << (at + 1);
    backslash &= ~(uint64_t{3} << at);
  }
  return escaped;
}

// Bit i of the result is the parity of the bits 0 .. i: inside a string from its opening quote up
// to, but without, its closing one.
uint64_t PrefixParity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

size_t FindBracketEnd(const char* text, size_t begin, size_t end) {
  int64_t depth = 0;
  uint64_t inside_string = 0;  // all ones where the previous block ended inside one
  bool escape_carry = false;
  for (size_t at = begin; at < end; at += 64) {
    const BlockMasks masks = Classify(text + at);
    uint64_t quote = masks.quote;
    if (masks.backslash != 0 || escape_carry)
      quote &= ~EscapedBytes(masks.backslash, &escape_carry);
    const uint64_t in_string = PrefixParity(quote) ^ inside_string;
    inside_string = static_cast<uint64_t>(static_cast<int64_t>(in_string) >> 63);
    const uint64_t open = masks.open & ~in_string;
    uint64_t close = masks.close & ~in_string;
    const int closes = std::popcount(close);
    if (depth > closes || (closes == 0)) {
      depth += std::popcount(open) - closes;
      continue;
    }
    // The value may end here: the depth at each closing bracket is what was opened before it less
    // what was closed.
    int64_t closed = 0;
    while (close != 0) {
      const int bit = std::countr_zero(close);
      close &= close - 1;
      ++closed;
      const uint64_t before = (uint64_t{1} << bit) - 1;
      if (depth + std::popcount(open & before) - closed == 0) {
        const size_t behind = at + static_cast<size_t>(bit) + 1;
        return behind <= end ? behind : end + 1;
      }
    }
    depth += std::popcount(open) - closed;
  }
  return end + 1;
}

size_t FindStringEnd(const char* text, size_t begin, size_t end, bool* escaped) {
  *escaped = false;
  size_t at = begin + 1;
  while (at < end) {
#if defined(__SSE2__)
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
    const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(hit));
    if (mask == 0) {
      at += 16;
      continue;
    }
    at += static_cast<size_t>(std::countr_zero(mask));
#else
    if (text[at] != '"' && text[at] != '\\') {
      ++at;
      continue;
    }
#endif
    if (at >= end) break;
    if (text[at] == '"') return at + 1;
    *escaped = true;
    at += 2;
  }
  return end + 1;
}

}  // namespace eroica
