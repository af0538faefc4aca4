// A command line of subcommands, git style: parses, runs the one that is asked for, and says what
// went wrong in one line behind the program's name. Shared by `eroica` and by the programs of the
// tests. Owner: main().
#pragma once

#include <CLI/CLI.hpp>

namespace eroica {

// The exit code of the process (exit_code.h). exit_code: where the subcommands leave theirs.
int RunCommandLine(CLI::App& app, int argc, char** argv, const int& exit_code);

}  // namespace eroica
