// Options of the configuration for people and programs, from their declarations (ops/config).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/config/node_config.h"
#include "ops/config/option.h"

namespace eroica {

// The option of that name, or all of a section. Empty where there is none of either.
std::vector<const Option*> OptionsNamed(std::string_view name);
// Of a name that is none: what is near it.
std::string NoSuchOptionText(const std::string& name);

// What it is for, its type, unit, default and bounds, in so many columns. Several lines, each with
// its end.
std::string OptionText(const Option& option, size_t width);
// The same as one JSON object, without a line end.
std::string OptionJson(const Option& option);

// All options with their values as one JSON object, by name; secrets are not shown.
std::string ConfigToJson(const NodeConfig& config);

}  // namespace eroica
