// The flags that every command has: -q, -v and --color. What they say holds for the process, from
// before the command runs (terminal.h, logging.h).
#pragma once

#include <CLI/CLI.hpp>

namespace eroica {

// To each command of app that has none below it.
void AddOutputFlags(CLI::App& app);

}  // namespace eroica
