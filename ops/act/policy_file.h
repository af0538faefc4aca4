// A policy from a TOML file. An unknown key, a value of the wrong type or out of its bounds, a
// command that is not allowed: each is a line of the message, with file, line and the nearest name.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "ops/act/policy.h"

namespace eroica {

// kNotFound where the file cannot be read, kInvalidArgument for what it says.
absl::StatusOr<Policy> ReadPolicyFile(const std::string& path);
// The same of text; `name` stands for the file in messages.
absl::StatusOr<Policy> ReadPolicyText(std::string_view text, const std::string& name);

}  // namespace eroica
