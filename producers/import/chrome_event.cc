#include "producers/import/chrome_event.h"

#include <algorithm>
#include <cstring>

#include "producers/import/json_members.h"

namespace eroica {
namespace {

constexpr uint64_t kMaxNs = uint64_t{1} << 62;
constexpr int kMaxDigits = 18;  // that always fit into 64 bits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number as digits * 10^exponent, cut to kMaxDigits significant digits.
struct Decimal {
  bool negative = false;
  uint64_t digits = 0;
  int exponent = 0;
};

bool ParseExponent(std::string_view text, size_t at, int* exponent) {
  bool negative = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
  if (at >= text.size()) return false;
  int value = 0;
  for (; at < text.size(); ++at) {
    if (!IsDigit(text[at])) return false;
    value = std::min(100'000, 10 * value + (text[at] - '0'));
  }
  *exponent += negative ? -value : value;
  return true;
}

bool ParseDecimal(std::string_view text, Decimal* out) {
  size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    out->negative = true;
    ++at;
  }
  int kept = 0;
  bool any = false;
  bool fraction = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !fraction && any) {
      fraction = true;
      continue;
    }
    if (!IsDigit(c)) break;
    any = true;
    if (kept < kMaxDigits) {
      out->digits = 10 * out->digits + static_cast<uint64_t>(c - '0');
      if (out->digits != 0) ++kept;
      if (fraction) --out->exponent;
    } else if (!fraction) {
      ++out->exponent;
    }
  }
  if (!any) return false;
  if (at == text.size()) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  return ParseExponent(text, at + 1, &out->exponent);
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (code >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

// Bytes of the well-formed UTF-8 sequence at `at`, 0 where there is none (overlong forms,
// surrogates and code points beyond U+10FFFF are none).
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

// The four hex digits at `at`; false where there are none.
bool ParseHex4(std::string_view raw, size_t at, uint32_t* code) {
  if (at + 4 > raw.size()) return false;
  *code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = raw[i];
    const int digit = IsDigit(c)             ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    *code = 16 * *code + static_cast<uint32_t>(digit);
  }
  return true;
}

constexpr uint32_t kReplacement = 0xFFFD;

// raw[at] is the backslash. Appends what the escape stands for and returns the offset behind it.
size_t DecodeEscape(std::string_view raw, size_t at, std::string* out) {
  if (at + 1 >= raw.size()) {
    AppendUtf8(kReplacement, out);
    return raw.size();
  }
  const char kind = raw[at + 1];
  static constexpr std::string_view kLetters = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (const size_t letter = kLetters.find(kind); letter != std::string_view::npos) {
    out->push_back(kMeanings[letter]);
    return at + 2;
  }
  uint32_t code = 0;
  if (kind != 'u' || !ParseHex4(raw, at + 2, &code)) {
    AppendUtf8(kReplacement, out);
    return at + 2;
  }
  at += 6;
  if (code >= 0xD800 && code < 0xDC00) {
    uint32_t low = 0;
    const bool pair = at + 1 < raw.size() && raw[at] == '\\' && raw[at + 1] == 'u' &&
                      ParseHex4(raw, at + 2, &low);
    if (pair && low >= 0xDC00 && low < 0xE000) {
      AppendUtf8(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), out);
      return at + 6;
    }
    code = kReplacement;
  } else if (code >= 0xDC00 && code < 0xE000) {
    code = kReplacement;
  }
  AppendUtf8(code, out);
  return at;
}

void AssignTime(std::string_view value, int64_t* nanoseconds, bool* present, ChromeEvent* event) {
  *present = true;
  if (!ParseMicroseconds(Unquoted(value), nanoseconds)) event->bad_time = true;
}

void AssignMember(std::string_view key, std::string_view value, ChromeEvent* event) {
  switch (key.size()) {
    case 2:
      if (key == "ph") {
        const std::string_view phase = Unquoted(value);
        event->phase = phase.size() == 1 ? phase[0] : '?';
      } else if (key == "ts") {
        AssignTime(value, &event->start_ns, &event->has_start, event);
      }
      return;
    case 3:
      if (key == "dur") {
        AssignTime(value, &event->duration_ns, &event->has_duration, event);
      } else if (key == "cat") {
        event->category = Unquoted(value);
      } else if (key == "tid") {
        event->tid = Unquoted(value);
      } else if (key == "pid") {
        event->pid = Unquoted(value);
      }
      return;
    case 4:
      if (key == "name") {
        event->name = Unquoted(value);
      } else if (key == "args") {
        event->args = value.front() == '{' ? value : std::string_view();
      }
      return;
    default: return;
  }
}

// text * 10^scale as an integer, the first dropped decimal rounding half up.
bool ParseScaled(std::string_view text, int scale, int64_t* result) {
  Decimal decimal;
  if (!ParseDecimal(text, &decimal)) return false;
  int exponent = decimal.exponent + scale;
  uint64_t value = decimal.digits;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kMaxNs / 10) return false;
    value *= 10;
  }
  bool round_up = false;
  for (; exponent < 0 && (value != 0 || round_up); ++exponent) {
    round_up = value % 10 >= 5;
    value /= 10;
  }
  if (round_up) ++value;
  if (value > kMaxNs) return false;
  const auto magnitude = static_cast<int64_t>(value);
  *result = decimal.negative ? -magnitude : magnitude;
  return true;
}

}  // namespace

bool ParseMicroseconds(std::string_view text, int64_t* nanoseconds) {
  return ParseScaled(text, 3, nanoseconds);
}

bool ParseSeconds(std::string_view text, int64_t* nanoseconds) {
  return ParseScaled(text, 9, nanoseconds);
}

std::string DecodeJsonString(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  size_t at = 0;
  while (at < raw.size()) {
    if (raw[at] == '\\') {
      at = DecodeEscape(raw, at, &text);
      continue;
    }
    const size_t length = Utf8Length(raw, at);
    if (length == 0) {
      AppendUtf8(kReplacement, &text);
      ++at;
    } else {
      text.append(raw, at, length);
      at += length;
    }
  }
  return text;
}

bool ParseChromeEvent(std::string_view text, ChromeEvent* event) {
  *event = {};
  return VisitJsonMembers(text, [event](std::string_view key, std::string_view value) {
    AssignMember(key, value, event);
  });
}

}  // namespace eroica
