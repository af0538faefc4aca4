// Reading the text of the kernel's files, and of files that claim to be. Takes any bytes; what is
// cut off counts as absent, so that half a number is never taken for a whole one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace eroica {

// Takes the first line, without its end, off the text. False where there is no whole line left.
bool TakeLine(std::string_view* text, std::string_view* line);
// Takes the first word off the line; empty where there is none.
std::string_view TakeWord(std::string_view* line);
// The whole word is the number.
std::optional<uint64_t> ReadNumber(std::string_view word);
// The number that is the next word of the line, taken off.
std::optional<uint64_t> TakeNumber(std::string_view* line);
// Skips words.
void SkipWords(int count, std::string_view* line);
// What follows the key in the first line that begins with it ("MemTotal:").
std::optional<std::string_view> AfterKey(std::string_view text, std::string_view key);

// How much a counter that only grows has grown; nothing where it went back: it was reset.
std::optional<uint64_t> Growth(uint64_t before, uint64_t now);

}  // namespace eroica
