// Secrets of librdkafka's properties: they come from a file or the environment and are never shown.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "ops/config/node_config.h"

namespace eroica {

inline constexpr std::string_view kRedacted = "(secret)";

// Whether the value of a librdkafka property must not be shown: passwords, client secrets, private
// keys, and the lists that may hold one.
bool IsSecretProperty(std::string_view property);
// Whether the value of an entry of kafka.properties is a secret itself, and not the name of the
// file or variable that holds one.
bool HoldsSecret(std::string_view entry);
// Whether the value of an entry may be shown: that of a property which is known to hold no secret,
// and the name of a file or variable that holds one. Whoever has mistyped the name of a secret
// ("sasl.pasword") has given a property that nobody knows.
bool MayShow(std::string_view entry, std::string_view value);

// Where a file or variable is asked for, people give the secret itself. "the variable NAME", or
// "the variable (not shown, ...)" where it does not look like a name.
std::string VariableForMessage(std::string_view variable);
// The file of a secret, for option; errors show the path only where it looks like one.
absl::StatusOr<std::string> ReadSecretFile(const std::string& option, const std::string& path);

// Replaces NAME_file and NAME_env among kafka.properties by NAME with what they stand for; a line's
// end after it is cut off. kInvalidArgument for a secret that stands in the configuration itself,
// kNotFound for a file or variable that is not there.
absl::Status ResolveSecrets(NodeConfig* config);

}  // namespace eroica
