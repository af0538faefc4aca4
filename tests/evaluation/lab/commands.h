// The subcommands of `eroica-lab`; as ops/cli/commands.h.
#pragma once

#include <CLI/CLI.hpp>

namespace eroica {

void AddRealCommand(CLI::App& app, int* exit_code);
void AddScoreCommand(CLI::App& app, int* exit_code);
void AddSimulateCommand(CLI::App& app, int* exit_code);

}  // namespace eroica
