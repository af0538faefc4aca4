#include "tests/evaluation/score/known_misses.h"

#include <fmt/format.h>

#include "ops/config/text_file.h"

namespace eroica {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

bool CannotBeTold(const KnownMisses& known, const std::string& scenario) {
  const auto it = known.find(scenario);
  return it != known.end() && it->second.starts_with("cannot be told: ");
}

std::string WhyMoreWindows(const KnownMisses& known, const std::string& scenario,
                           const std::string& family) {
  constexpr std::string_view kPrefix = "more than two windows: ";
  for (const std::string& name : {scenario, "family " + family}) {
    const auto it = known.find(name);
    if (it != known.end() && it->second.starts_with(kPrefix))
      return it->second.substr(kPrefix.size());
  }
  return "";
}

absl::StatusOr<KnownMisses> ParseKnownMisses(std::string_view text) {
  KnownMisses known;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = Trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    const size_t colon = line.find(':');
    const std::string name(Trimmed(line.substr(0, colon)));
    const std::string reason(colon == std::string_view::npos ? ""
                                                             : Trimmed(line.substr(colon + 1)));
    if (name.empty() || reason.empty())
      return absl::InvalidArgumentError(fmt::format("line {}: must be 'scenario: reason'", number));
    if (!known.emplace(name, reason).second)
      return absl::InvalidArgumentError(
          fmt::format("line {}: {} stands there twice", number, name));
  }
  return known;
}

absl::StatusOr<KnownMisses> ReadKnownMisses(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<KnownMisses> known = ParseKnownMisses(*text);
  if (!known.ok())
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", path, std::string(known.status().message())));
  return known;
}

}  // namespace eroica
