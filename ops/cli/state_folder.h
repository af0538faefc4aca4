// Where a node keeps its state.
#pragma once

#include <string>

#include "ops/config/node_config.h"

namespace eroica {

// The configured folder, else one beside the recording, else one in the working folder. A replay's
// folder has its state within.
std::string StateFolder(const NodeConfig& config);

// Where a replay in the folder keeps what it reads and how, and its state.
std::string ReplayRecordPath(const std::string& folder);
std::string ReplayStatePath(const std::string& folder);

// Whether the recording of the configuration is the folder of a replay (replay_folder.h), which
// keeps findings and state, and none of what they were made of.
bool IsReplayFolder(const NodeConfig& config);

}  // namespace eroica
