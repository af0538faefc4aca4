// NodeConfig from a TOML file and from KEY=VALUE on the command line. An unknown key, a value of
// the wrong type or out of its bounds stops the start: the message names file and line, what is
// allowed and the nearest key, one line a problem.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "ops/config/node_config.h"

namespace eroica {

// kNotFound where the file cannot be read, kInvalidArgument for what it says.
absl::Status ApplyConfigFile(const std::string& path, NodeConfig* config);
// The same of text; `name` stands for the file in messages.
absl::Status ApplyConfigText(std::string_view text, const std::string& name, NodeConfig* config);
// One "section.key=value". A value that is no TOML counts as a string, so that no quotes are
// needed.
absl::Status ApplyAssignment(const std::string& assignment, NodeConfig* config);

}  // namespace eroica
