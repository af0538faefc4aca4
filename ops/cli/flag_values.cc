#include "ops/cli/flag_values.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "ops/config/nearest_name.h"

namespace eroica {
namespace {

// Begins the name of such a validator, which nobody is shown; the choices stand behind it.
constexpr std::string_view kOneOf = "one of ";

}  // namespace

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
  std::string name = fmt::format("{}{}", kOneOf, fmt::join(choices, ","));
  const auto check = [choices = std::move(choices)](std::string& text) -> std::string {
    if (std::ranges::find(choices, text) != choices.end()) return "";
    const std::string nearest = NearestName(text, choices);
    return fmt::format("'{}' is none of {}{}", text, fmt::join(choices, ", "),
                       nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
  };
  CLI::Validator validator(check, "");
  validator.name(std::move(name));
  return validator;
}

std::vector<std::string> ChoicesOf(CLI::Option& option) {
  try {
    for (int i = 0;; ++i) {
      const std::string& name = option.get_validator(i)->get_name();
      if (name.starts_with(kOneOf)) return absl::StrSplit(name.substr(kOneOf.size()), ',');
    }
  } catch (const CLI::OptionNotFound&) {
    return {};  // how CLI11 says that it has no more
  }
}

}  // namespace eroica
