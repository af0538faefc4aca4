// Where a JSON value ends, found 64 bytes at a time without looking at what it holds. The
// importer's inner loop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eroica {

// Bytes that must be readable behind the end of every scanned range (their content does not
// matter).
inline constexpr size_t kJsonPadding = 64;

// text[begin] is '{' or '['. Returns the offset behind its matching bracket, or `end` + 1 where the
// value does not end within [begin, end). Brackets inside strings do not count; a mismatched pair
// such as "{]" does: such a value is delimited, and refused when it is parsed.
size_t FindBracketEnd(const char* text, size_t begin, size_t end);

// text[begin] is the opening quote. Returns the offset behind the closing one, or `end` + 1.
// *escaped: whether a backslash occurs inside.
size_t FindStringEnd(const char* text, size_t begin, size_t end, bool* escaped);

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The offset of the first byte at or behind `begin` that is no white space; `end` where there is
// none.
inline size_t SkipJsonSpace(const char* text, size_t begin, size_t end) {
  while (begin < end && IsJsonSpace(text[begin])) ++begin;
  return begin;
}

}  // namespace eroica
