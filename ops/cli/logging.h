// Where the log lines of all modules go: standard error, so that findings on standard output can be
// piped.
#pragma once

#include <string>

namespace eroica {

// Once, before any thread starts. Errors only: what a short command has to say of its failure, it
// says itself.
void StartLogging();
// level: one of node.log_level's choices.
void SetLogLevel(const std::string& level);

}  // namespace eroica
