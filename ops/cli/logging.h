// Where the log lines of all modules go: standard error, so that findings on standard output can be piped.
#pragma once

#include <string>

namespace eroica {

// level: one of node.log_level's choices. Before any thread starts.
void StartLogging(const std::string& level);

}  // namespace eroica
