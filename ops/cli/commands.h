// The subcommands. Each adds itself with its options to the app; its callback does the work and
// says in *exit_code (exit_code.h) how it ended.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace eroica {

void AddActCommand(CLI::App& app, int* exit_code);
void AddAlertCommand(CLI::App& app, int* exit_code);
void AddCaptureCommand(CLI::App& app, int* exit_code);
void AddCheckCommand(CLI::App& app, int* exit_code);
void AddDeadLetterCommand(CLI::App& app, int* exit_code);
void AddDiagnoseCommand(CLI::App& app, int* exit_code);
void AddFindingsCommand(CLI::App& app, int* exit_code);
void AddImportCommand(CLI::App& app, int* exit_code);
void AddNodeCommand(CLI::App& app, int* exit_code);
void AddRecordCommand(CLI::App& app, int* exit_code);
void AddReplayCommand(CLI::App& app, int* exit_code);
// job: the words of the command line behind `--`, which are the job's own.
void AddRunCommand(CLI::App& app, std::vector<std::string> job, int* exit_code);
void AddTokenCommand(CLI::App& app, int* exit_code);
void AddTopicsCommand(CLI::App& app, int* exit_code);

}  // namespace eroica
