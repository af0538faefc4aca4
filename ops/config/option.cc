#include "ops/config/option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace eroica {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::optional<double> NumberOf(const OptionValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

absl::Status CheckChoice(const Option& option, const std::string& value) {
  if (option.choices.empty() ||
      std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("{} is '{}', but must be one of {}", option.name,
                                                value, fmt::join(option.choices, ", ")));
}

}  // namespace

absl::Status Check(const Option& option, const OptionValue& value) {
  const OptionValue wanted = option.get(NodeConfig());
  if (value.index() != wanted.index()) {
    return absl::InvalidArgumentError(fmt::format("{} is {}, but must be {}, such as {}",
                                                  option.name, TypeName(value), TypeName(wanted),
                                                  ToToml(wanted)));
  }
  if (const std::optional<double> number = NumberOf(value);
      number && !(*number >= option.min && *number <= option.max)) {
    return absl::InvalidArgumentError(fmt::format("{} is {}, but must be {}{}{}", option.name,
                                                  ToToml(value), BoundsText(option),
                                                  option.unit.empty() ? "" : " ", option.unit));
  }
  if (const auto* text = std::get_if<std::string>(&value)) return CheckChoice(option, *text);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    if (list->empty())
      return absl::InvalidArgumentError(fmt::format("{} must not be empty", option.name));
    for (const std::string& item : *list) {
      if (absl::Status status = CheckChoice(option, item); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

std::string_view TypeName(const OptionValue& value) {
  static constexpr std::string_view kNames[] = {"a boolean", "an integer",        "a number",
                                                "a string",  "a list of strings", "a table"};
  return kNames[value.index()];
}

std::string ToToml(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:#}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return Quoted(*text);
  std::vector<std::string> items;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& item : *list) items.push_back(Quoted(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  for (const auto& [key, text] : std::get<OptionTable>(value))
    items.push_back(fmt::format("{} = {}", Quoted(key), Quoted(text)));
  return items.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(items, ", "));
}

std::string BoundsText(const Option& option) {
  if (!option.choices.empty()) return fmt::format("one of {}", fmt::join(option.choices, ", "));
  if (!NumberOf(option.get(NodeConfig()))) return "";
  return fmt::format("{} to {}", option.min, option.max);
}

const Option* FindOption(std::string_view name) {
  const std::vector<Option>& options = NodeOptions();
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace eroica
