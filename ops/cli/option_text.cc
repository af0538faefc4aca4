#include "ops/cli/option_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "ops/cli/wrapped_text.h"
#include "ops/config/nearest_name.h"
#include "ops/config/secret.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using nlohmann::ordered_json;

std::string Dump(const ordered_json& value) {
  return PrintableJson(value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

ordered_json ValueJson(const OptionValue& value) {
  return std::visit([](const auto& held) { return ordered_json(held); }, value);
}

// Infinite where a number has none.
ordered_json BoundJson(double bound) {
  return std::isfinite(bound) ? ordered_json(bound) : ordered_json(nullptr);
}

std::string SectionOf(const Option& option) {
  return option.name.substr(0, option.name.rfind('.'));
}

}  // namespace

std::vector<const Option*> OptionsNamed(std::string_view name) {
  if (const Option* option = FindOption(name)) return {option};
  std::vector<const Option*> section;
  for (const Option& option : NodeOptions()) {
    if (SectionOf(option) == name) section.push_back(&option);
  }
  return section;
}

std::string NoSuchOptionText(const std::string& name) {
  std::vector<std::string> known;
  for (const Option& option : NodeOptions()) {
    const std::string section = SectionOf(option);
    if (known.empty() || known.back() != section) known.push_back(section);
  }
  for (const Option& option : NodeOptions()) known.push_back(option.name);
  const std::string nearest = NearestName(name, known);
  return nearest.empty()
             ? fmt::format("unknown key '{}'; `eroica config print` shows all keys", name)
             : fmt::format("unknown key '{}'; did you mean '{}'?", name, nearest);
}

std::string OptionText(const Option& option, size_t width) {
  constexpr size_t kLabelWidth = 12;
  std::string text = option.name + "\n";
  const auto row = [&](std::string_view label, const std::string& content) {
    if (!content.empty())
      text +=
          fmt::format("  {:<{}}{}\n", label, kLabelWidth - 2, Wrapped(content, width, kLabelWidth));
  };
  const OptionValue value = option.get(NodeConfig());
  row("meaning", option.doc);
  row("type", std::string(TypeName(value)));
  row("unit", option.unit);
  row("default", ToToml(value));
  row("allowed", BoundsText(option));
  const std::string key = option.name.substr(option.name.rfind('.') + 1);
  row("in a file", fmt::format("[{}]\n{} = {}", SectionOf(option), key, ToToml(value)));
  return text;
}

std::string OptionJson(const Option& option) {
  const OptionValue value = option.get(NodeConfig());
  ordered_json object{{"key", option.name},           {"meaning", option.doc},
                      {"type", TypeName(value)},      {"unit", option.unit},
                      {"default", ValueJson(value)},  {"min", BoundJson(option.min)},
                      {"max", BoundJson(option.max)}, {"choices", option.choices}};
  return Dump(object);
}

std::string ConfigToJson(const NodeConfig& config) {
  ordered_json object = ordered_json::object();
  for (const Option& option : NodeOptions()) {
    OptionValue value = option.get(config);
    if (auto* table = std::get_if<OptionTable>(&value)) {
      for (auto& [key, text] : *table) {
        if (!MayShow(key, text)) text = kRedacted;
      }
    }
    object[option.name] = ValueJson(value);
  }
  return Dump(object);
}

}  // namespace eroica
