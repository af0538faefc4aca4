#include "ops/cli/flag_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ops/config/nearest_name.h"

namespace eroica {

CLI::Validator WholeNumber(int64_t min, int64_t max) {
  const auto check = [min, max](std::string& text) -> std::string {
    int64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error == std::errc() && end == last && number >= min && number <= max) return "";
    return fmt::format("'{}' is no whole number from {} to {}", text, min, max);
  };
  return CLI::Validator(check, "");
}

CLI::Validator OneOf(std::vector<std::string> choices) {
  const auto check = [choices = std::move(choices)](std::string& text) -> std::string {
    if (std::ranges::find(choices, text) != choices.end()) return "";
    const std::string nearest = NearestName(text, choices);
    return fmt::format("'{}' is none of {}{}", text, fmt::join(choices, ", "),
                       nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
  };
  return CLI::Validator(check, "");
}

}  // namespace eroica
