#include "schemas/printable_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace eroica {
namespace {

struct Character {
  char32_t code = 0;  // of a byte that is no UTF-8: the byte itself
  size_t bytes = 1;
  bool valid = false;
};

// The first one of a text that is not empty.
Character FirstCharacter(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  Character character{.code = lead};
  if (lead < 0x80) return {.code = lead, .bytes = 1, .valid = true};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return character;
  char32_t code = lead & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return character;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[bytes] || code > 0x10ffff || is_surrogate) return character;
  return {.code = code, .bytes = bytes, .valid = true};
}

bool DrivesATerminal(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  // C0, DEL and C1; marks, line separators, embeddings and isolates of bidirectional text.
  constexpr Range kRanges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                               {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
                               {0xfeff, 0xfeff}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

bool IsShown(const Character& character) {
  return character.valid && !DrivesATerminal(character.code);
}

std::string Formatted(const char* format, char32_t code) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(code));
  return text.data();
}

std::string Escaped(const Character& character) {
  if (character.code == '\n') return "\\n";
  if (character.code == '\r') return "\\r";
  if (character.code == '\t') return "\\t";
  const bool is_byte = !character.valid || character.code < 0x80;
  return Formatted(is_byte ? "\\x%02x" : "\\u%04x", character.code);
}

std::string PercentEncodedBytes(std::string_view bytes) {
  std::string encoded;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto value = static_cast<uint8_t>(byte);
    encoded += {'%', kDigits[value >> 4], kDigits[value & 0xf]};
  }
  return encoded;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (!character.valid) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

size_t CharacterCount(std::string_view text) {
  const auto begins_one = [](char byte) { return (byte & 0xc0) != 0x80; };
  return static_cast<size_t>(std::ranges::count_if(text, begins_one));
}

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    shown += IsShown(character) ? std::string(text.substr(0, character.bytes)) : Escaped(character);
    text.remove_prefix(character.bytes);
  }
  return shown;
}

std::string PrintableJson(std::string_view json) {
  std::string shown;
  shown.reserve(json.size());
  while (!json.empty()) {
    const Character character = FirstCharacter(json);
    const bool in_a_string = character.code >= 0x7f && DrivesATerminal(character.code);
    shown += in_a_string ? Formatted("\\u%04x", character.code)
                         : std::string(json.substr(0, character.bytes));
    json.remove_prefix(character.bytes);
  }
  return shown;
}

std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    const std::string_view bytes = text.substr(0, character.bytes);
    const bool as_it_is = IsShown(character) && character.code != '%';
    encoded += as_it_is ? std::string(bytes) : PercentEncodedBytes(bytes);
    text.remove_prefix(character.bytes);
  }
  return encoded;
}

}  // namespace eroica
