// The program `eroica`: one subcommand a file, git style.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/logging.h"
#include "ops/config/nearest_name.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  eroica check                                       what can be captured on this machine, and why not the rest
  eroica run -- torchrun --nproc-per-node 8 train.py  run a job, see findings while it runs
  eroica diagnose traces/                            find the culprit in a folder of traces, no Kafka needed
  eroica import traces/ -o recording/                keep the traces as a recording
  eroica node --recording recording/                 run all stages over a recording, follow it while it grows
  eroica simulate scenario.toml -o recording/        a job with a fault that is not there, to try it all out
  eroica topics create --bootstrap localhost:9092    make the topics
  eroica node --bootstrap localhost:9092             run all stages over Kafka
  eroica findings --bootstrap localhost:9092 --follow
  eroica score                                       how right the diagnosis is, on jobs with a known truth

Exit codes: 0 nothing found, 1 findings, 2 error. `eroica COMMAND --help` tells more.)";

// What the user may have meant by a word that no command or option takes; empty where nothing is near.
std::string Suggestion(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return "";
  std::vector<std::string> known;
  for (const CLI::App* subcommand : command->get_subcommands([](const CLI::App*) { return true; })) known.push_back(subcommand->get_name());
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string nearest = eroica::NearestName(extra.front(), known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

// What stands behind `eroica run ... --` is the job's, every byte of it: CLI11 would take a word such as
// [1,2] apart. It is cut off the command line.
std::vector<std::string> CutJob(int* argc, char** argv) {
  if (*argc < 2 || std::string_view(argv[1]) != "run") return {};
  const auto end = argv + *argc;
  const auto dashes = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes == end) return {};
  *argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

}  // namespace

int main(int argc, char** argv) {
  eroica::StartLogging();
  CLI::App app("Finds which rank and which function slow a training job down.", "eroica");
  app.set_version_flag("--version", std::string("eroica ") + EROICA_VERSION);
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  int exit_code = eroica::kExitNothingFound;
  eroica::AddRunCommand(app, CutJob(&argc, argv), &exit_code);
  eroica::AddCaptureCommand(app, &exit_code);
  eroica::AddCheckCommand(app, &exit_code);
  eroica::AddDiagnoseCommand(app, &exit_code);
  eroica::AddImportCommand(app, &exit_code);
  eroica::AddNodeCommand(app, &exit_code);
  eroica::AddFindingsCommand(app, &exit_code);
  eroica::AddScoreCommand(app, &exit_code);
  eroica::AddSimulateCommand(app, &exit_code);
  eroica::AddTopicsCommand(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    std::cerr << "eroica: " << error.what() << Suggestion(app) << "\n";
    return eroica::kExitError;
  }
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return eroica::kExitError;
  }
  return exit_code;
}
