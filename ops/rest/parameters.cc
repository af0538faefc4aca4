#include "ops/rest/parameters.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

template <typename T>
std::optional<T> ParseWhole(std::string_view text, int base) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

const std::string& Parameters::Name(std::string_view name) const {
  static const std::string kNone;  // the route has no such name
  const auto argument = arguments_.find(name);
  return argument != arguments_.end() ? argument->second : kNone;
}

const std::string& Parameters::JobName() {
  constexpr size_t kCharactersMax = 1'024;
  const std::string& job = Name("job");
  if (CharacterCount(job) > kCharactersMax)
    Fail(fmt::format("the name of a job has at most {} characters", kCharactersMax));
  return job;
}

uint64_t Parameters::HexName(std::string_view name, size_t digits) {
  const std::string& text = Name(name);
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const std::optional<uint64_t> value = ParseWhole<uint64_t>(text, 16);
  if (value && text.size() == digits && std::ranges::all_of(text, is_digit)) return *value;
  Fail(fmt::format("{} must be {} hex digits, as the lists have it", name, digits));
  return 0;
}

int64_t Parameters::IntegerName(std::string_view name, int64_t max) {
  const std::optional<int64_t> value = ParseWhole<int64_t>(Name(name), 10);
  if (value && *value >= 0 && *value <= max) return *value;
  Fail(fmt::format("{} must be a whole number from 0 to {}", name, max));
  return 0;
}

std::optional<std::string> Parameters::Take(const std::string& name) {
  MarkRead(name);
  const auto parameter = request_.parsed.query.find(name);
  if (parameter == request_.parsed.query.end()) return std::nullopt;
  return parameter->second;
}

std::optional<std::string> Parameters::Text(const std::string& name, size_t characters_max) {
  std::optional<std::string> text = Take(name);
  if (text && (text->empty() || CharacterCount(*text) > characters_max)) {
    Fail(fmt::format("{} must be of 1 to {} characters", name, characters_max));
    return std::nullopt;
  }
  return text;
}

std::optional<int64_t> Parameters::OptionalInteger(const std::string& name, int64_t min,
                                                   int64_t max) {
  const std::optional<std::string> text = Take(name);
  if (!text) return std::nullopt;
  const std::optional<int64_t> value = ParseWhole<int64_t>(*text, 10);
  if (value && *value >= min && *value <= max) return value;
  Fail(fmt::format("{} must be a whole number from {} to {}", name, min, max));
  return std::nullopt;
}

int64_t Parameters::Integer(const std::string& name, int64_t otherwise, int64_t min, int64_t max) {
  return OptionalInteger(name, min, max).value_or(otherwise);
}

std::optional<int64_t> Parameters::TimeMs(const std::string& name) {
  const std::optional<std::string> text = Take(name);
  return text ? ReadTimeMs(name, *text) : std::nullopt;
}

bool Parameters::Boolean(const std::string& name, bool otherwise) {
  const std::optional<size_t> choice = Choice(name, {"false", "true"});
  return choice ? *choice == 1 : otherwise;
}

std::optional<size_t> Parameters::Choice(const std::string& name,
                                         const std::vector<std::string>& choices) {
  const std::optional<std::string> text = Take(name);
  if (!text) return std::nullopt;
  const auto chosen = std::ranges::find(choices, *text);
  if (chosen != choices.end()) return static_cast<size_t>(chosen - choices.begin());
  Fail(fmt::format("{} must be one of {}", name, absl::StrJoin(choices, ", ")));
  return std::nullopt;
}

std::optional<HttpResponse> Parameters::Refuse() {
  std::vector<std::string> given;
  for (const auto& [name, value] : request_.parsed.query) given.push_back(name);
  return RefuseOf(given);
}

}  // namespace eroica
