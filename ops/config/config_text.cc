#include "ops/config/config_text.h"

#include <fmt/format.h>

#include <string_view>

#include "ops/config/option.h"
#include "ops/config/secret.h"

namespace eroica {
namespace {

std::string_view SectionOf(const Option& option) {
  return std::string_view(option.name).substr(0, option.name.rfind('.'));
}
std::string_view KeyOf(const Option& option) {
  return std::string_view(option.name).substr(option.name.rfind('.') + 1);
}

std::string UnitAndBounds(const Option& option) {
  const std::string bounds = BoundsText(option);
  if (bounds.empty()) return "";
  return option.unit.empty() ? fmt::format(" {}.", bounds)
                             : fmt::format(" {} {}.", bounds, option.unit);
}

// A secret stays a comment, so that the file can be read back and nobody takes the mark for a
// password.
std::string TableLines(std::string_view section_and_key, const OptionTable& table) {
  std::string lines = fmt::format("\n[{}]\n", section_and_key);
  for (const auto& [key, value] : table) {
    lines += !MayShow(key, value)
                 ? fmt::format("# \"{}\" = {}\n", key, kRedacted)
                 : fmt::format("{} = {}\n", ToToml(OptionValue(key)), ToToml(OptionValue(value)));
  }
  return lines;
}

}  // namespace

std::string ConfigToToml(const NodeConfig& config) {
  std::string text;
  std::string tables;  // TOML wants them after the plain keys of their section
  std::string_view section;
  for (const Option& option : NodeOptions()) {
    if (SectionOf(option) != section) {
      text += std::exchange(tables, {});
      section = SectionOf(option);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    const OptionValue value = option.get(config);
    const std::string comment = fmt::format("# {}{}\n", option.doc, UnitAndBounds(option));
    if (const auto* table = std::get_if<OptionTable>(&value)) {
      tables += comment + TableLines(option.name, *table);
    } else {
      text += comment + fmt::format("{} = {}\n", KeyOf(option), ToToml(value));
    }
  }
  return text + tables;
}

std::string ConfigReference() {
  std::string page =
      "# Configuration of a node\n\n"
      "Made from the declarations in `ops/config/node_options.cc` by `eroica node "
      "--print-config-reference`; a test holds the two "
      "together.\n\n"
      "`eroica node --config FILE` reads one TOML file, `--set SECTION.KEY=VALUE` overrides it, "
      "`--print-config` shows what holds. An "
      "unknown key or a "
      "value out of its bounds stops the start with file and line.\n";
  std::string_view section;
  for (const Option& option : NodeOptions()) {
    if (SectionOf(option) != section) {
      section = SectionOf(option);
      page += fmt::format(
          "\n## [{}]\n\n| key | default | unit | allowed | what it is for "
          "|\n|---|---|---|---|---|\n",
          section);
    }
    page +=
        fmt::format("| `{}` | `{}` | {} | {} | {} |\n", KeyOf(option),
                    ToToml(option.get(NodeConfig())), option.unit, BoundsText(option), option.doc);
  }
  return page;
}

}  // namespace eroica
