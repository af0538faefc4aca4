#include "ops/config/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>
#include <utility>

#include "ops/config/nearest_name.h"
#include "ops/config/option.h"
#include "ops/config/text_file.h"
#include "ops/config/toml_problem.h"

namespace eroica {
namespace {

// What a text is called in messages, and whether its lines are those of a file.
struct TextName {
  std::string name;
  bool has_lines = true;
};

std::string Position(const TextName& text, const toml::source_region& region) {
  return text.has_lines ? fmt::format("{}:{}", text.name, region.begin.line) : text.name;
}

std::optional<std::string> ScalarText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

// security.protocol = "SSL" makes nested tables of TOML, "security.protocol" = "SSL" does not: both
// mean the same here.
bool Flatten(const toml::table& table, const std::string& prefix, OptionTable* flat) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      if (!Flatten(*inner, name + ".", flat)) return false;
    } else if (std::optional<std::string> text = ScalarText(node)) {
      (*flat)[name] = *std::move(text);
    } else {
      return false;
    }
  }
  return true;
}

// Nothing where no option can hold it (a date, a list of numbers).
std::optional<OptionValue> ToOptionValue(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* table = node.as_table()) {
    OptionTable flat;
    if (!Flatten(*table, "", &flat)) return std::nullopt;
    return flat;
  }
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> list;
  for (const toml::node& item : *array) {
    if (!item.is_string()) return std::nullopt;
    list.push_back(item.as_string()->get());
  }
  return list;
}

class Reader {
 public:
  Reader(TextName name, NodeConfig* config) : name_(std::move(name)), config_(config) {}

  void ReadTable(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string option_name = prefix + std::string(key.str());
      if (const Option* option = FindOption(option_name)) {
        ReadOption(*option, node);
      } else if (node.is_table() && IsSection(option_name)) {
        ReadTable(*node.as_table(), option_name + ".");
      } else {
        Unknown(option_name, key.source());
      }
    }
  }

  absl::Status status() const {
    return problems_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(problems_);
  }

 private:
  void ReadOption(const Option& option, const toml::node& node) {
    std::optional<OptionValue> value = ToOptionValue(node);
    if (!value) {
      Problem(node.source(),
              fmt::format("{} must be {}, such as {}", option.name,
                          TypeName(option.get(NodeConfig())), ToToml(option.get(NodeConfig()))));
      return;
    }
    // 1 is a number, too.
    if (const auto* integer = std::get_if<int64_t>(&*value);
        integer != nullptr && std::holds_alternative<double>(option.get(NodeConfig()))) {
      value = static_cast<double>(*integer);
    }
    if (absl::Status status = Check(option, *value); !status.ok()) {
      Problem(node.source(), std::string(status.message()));
      return;
    }
    // One more entry leaves the others: --set adds to what the file says.
    if (const auto* added = std::get_if<OptionTable>(&*value)) {
      OptionTable all = std::get<OptionTable>(option.get(*config_));
      for (const auto& [key, text] : *added) all[key] = text;
      value = std::move(all);
    }
    option.set(config_, *std::move(value));
  }

  static bool IsSection(std::string_view name) {
    for (const Option& option : NodeOptions()) {
      if (option.name.size() > name.size() && option.name.compare(0, name.size(), name) == 0 &&
          option.name[name.size()] == '.')
        return true;
    }
    return false;
  }

  void Unknown(const std::string& name, const toml::source_region& region) {
    std::vector<std::string> known;
    for (const Option& option : NodeOptions()) known.push_back(option.name);
    const std::string nearest = NearestName(name, known);
    Problem(region,
            nearest.empty()
                ? fmt::format("unknown key '{}'; `eroica config print` shows all keys", name)
                : fmt::format("unknown key '{}'; did you mean '{}'?", name, nearest));
  }

  void Problem(const toml::source_region& region, const std::string& message) {
    if (!problems_.empty()) problems_ += '\n';
    problems_ += fmt::format("{}: {}", Position(name_, region), message);
  }

  const TextName name_;
  NodeConfig* const config_;
  std::string problems_;
};

absl::Status ApplyText(std::string_view text, const TextName& name, NodeConfig* config) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: no TOML: {}; `eroica config print` shows what a configuration "
                    "looks like",
                    Position(name, error.source()), TomlProblem(error.description())));
  }
  Reader reader(name, config);
  reader.ReadTable(table, "");
  return reader.status();
}

}  // namespace

absl::Status ApplyConfigText(std::string_view text, const std::string& name, NodeConfig* config) {
  return ApplyText(text, {.name = name}, config);
}

absl::Status ApplyConfigFile(const std::string& path, NodeConfig* config) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) return text.status();
  return ApplyConfigText(*text, path, config);
}

absl::Status ApplyAssignment(const std::string& assignment, NodeConfig* config) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is no assignment; write SECTION.KEY=VALUE", assignment));
  }
  const std::string name = assignment.substr(0, equals);
  const std::string value = assignment.substr(equals + 1);
  const std::string label = fmt::format("--set {}", name);
  std::string line = fmt::format("{} = {}\n", name, value);
  try {
    static_cast<void>(toml::parse(line));
  } catch (const toml::parse_error&) {
    line = fmt::format("{} = {}\n", name, ToToml(OptionValue(value)));
  }
  return ApplyText(line, {.name = label, .has_lines = false}, config);
}

}  // namespace eroica
