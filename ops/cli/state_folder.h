// Where a node keeps its state.
#pragma once

#include <string>

#include "ops/config/node_config.h"

namespace eroica {

// The configured folder, else one beside the recording, else one in the working folder.
std::string StateFolder(const NodeConfig& config);

}  // namespace eroica
