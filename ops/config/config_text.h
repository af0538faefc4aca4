// The configuration for people: as TOML with what each option is for (`eroica node
// --print-config`), and as the reference page. Both come from the declarations of option.h.
#pragma once

#include <string>

#include "ops/config/node_config.h"

namespace eroica {

// A complete file that ApplyConfigText reads back to the same configuration. Secrets are left out
// of it.
std::string ConfigToToml(const NodeConfig& config);
// docs/reference/config.md.
std::string ConfigReference();

}  // namespace eroica
