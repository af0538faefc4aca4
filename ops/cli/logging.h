// Where the log lines of all modules go: standard error, so that findings on standard output can be
// piped.
#pragma once

#include <spdlog/formatter.h>

#include <cstdint>
#include <memory>
#include <string>

namespace eroica {

// A line is a time, a level and the message, of which Printable is shown: names from outside forge
// no second line and drive no terminal.
std::unique_ptr<spdlog::formatter> LogFormatter();

// Once, before any thread starts. Errors only: what a short command has to say of its failure, it
// says itself.
void StartLogging();
// level: one of node.log_level's choices; what SetVerbosity says stands above it.
void SetLogLevel(const std::string& level);

// -q: warnings and errors at most. -v: whatever there is to say.
enum class Verbosity : uint8_t { kQuiet, kVerbose };
void SetVerbosity(Verbosity verbosity);

}  // namespace eroica
