// Secrets of librdkafka's properties: they come from a file or the environment and are never shown.
#pragma once

#include <absl/status/status.h>

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

// Replaces NAME_file and NAME_env among kafka.properties by NAME with what they stand for; a line's
// end after it is cut off. kInvalidArgument for a secret that stands in the configuration itself,
// kNotFound for a file or variable that is not there.
absl::Status ResolveSecrets(NodeConfig* config);

}  // namespace eroica
