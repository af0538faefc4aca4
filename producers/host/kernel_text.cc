#include "producers/host/kernel_text.h"

#include <charconv>
#include <system_error>

namespace eroica {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

bool TakeLine(std::string_view* text, std::string_view* line) {
  const size_t end = text->find('\n');
  if (end == std::string_view::npos) return false;
  *line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return true;
}

std::string_view TakeWord(std::string_view* line) {
  size_t begin = 0;
  while (begin < line->size() && IsBlank((*line)[begin])) ++begin;
  size_t end = begin;
  while (end < line->size() && !IsBlank((*line)[end])) ++end;
  const std::string_view word = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return word;
}

std::optional<uint64_t> ReadNumber(std::string_view word) {
  uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (word.empty() || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<uint64_t> TakeNumber(std::string_view* line) { return ReadNumber(TakeWord(line)); }

void SkipWords(int count, std::string_view* line) {
  for (int i = 0; i < count; ++i) TakeWord(line);
}

std::optional<std::string_view> AfterKey(std::string_view text, std::string_view key) {
  std::string_view line;
  while (TakeLine(&text, &line)) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return std::nullopt;
}

std::optional<uint64_t> Growth(uint64_t before, uint64_t now) {
  if (now < before) return std::nullopt;
  return now - before;
}

}  // namespace eroica
