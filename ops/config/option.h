// One option of the configuration, declared once: its name, unit, bounds and what it is for, and
// where its value lives in NodeConfig. From the same declaration come the reading, the checks,
// --print-config and docs/reference/config.md. The default is what a fresh NodeConfig holds.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/config/node_config.h"

namespace eroica {

using OptionTable = std::map<std::string, std::string>;
// As it stands in a file. OptionTable: keys that are not ours, passed through.
using OptionValue =
    std::variant<bool, int64_t, double, std::string, std::vector<std::string>, OptionTable>;

struct Option {
  std::string name;  // with its section: "runtime.idle_timeout_ms"
  std::string unit;  // empty where it has none
  std::string doc;   // whole sentences
  double min = -std::numeric_limits<double>::infinity();  // of numbers, inclusive
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  // of strings and lists of strings; empty: any
  std::function<OptionValue(const NodeConfig&)> get;
  std::function<void(NodeConfig*, OptionValue)> set;  // the value has passed Check
};

// Of the right type and within its bounds; else what is wrong and what is allowed.
absl::Status Check(const Option& option, const OptionValue& value);

// "integer", as an error or the reference calls it.
std::string_view TypeName(const OptionValue& value);
// As a TOML value: 5, "text", ["a", "b"]. Tables: { "a" = "b" }.
std::string ToToml(const OptionValue& value);
// "1 to 64", "one of a, b", or nothing.
std::string BoundsText(const Option& option);

// Every option of a node, by section.
const std::vector<Option>& NodeOptions();
// nullptr where there is none of that name.
const Option* FindOption(std::string_view name);

}  // namespace eroica
