// The program `eroica`: one subcommand a file, git style.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ops/cli/command_line.h"
#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/logging.h"
#include "ops/cli/version_text.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  eroica check                                       what can be captured on this machine, and why not the rest
  eroica run -- torchrun --nproc-per-node 8 train.py  run a job, see findings while it runs
  eroica diagnose traces/                            find the culprit in a folder of traces, no Kafka needed
  eroica import traces/ -o recording/                keep the traces as a recording
  eroica node --recording recording/                 run all stages over a recording, follow it while it grows
  eroica topics create --bootstrap localhost:9092    make the topics
  eroica node --bootstrap localhost:9092             run all stages over Kafka
  eroica findings --bootstrap localhost:9092 --follow
  eroica jobs --bootstrap localhost:9092             the jobs that nodes know, and what is open about them
  eroica top --job night                             a job, live, as a node on this machine sees it
  eroica export --recording recording/ --finding 1a2b -o trace.json.gz   a finding's window for Perfetto
  eroica alert --config node.toml                    page somebody: a webhook, Alertmanager
  eroica act --bootstrap localhost:9092 --policy act.toml   what a policy would do about them
  eroica record --bootstrap localhost:9092 --job night -o incident/   keep what led to them
  eroica replay --recording incident/                what the stages make of it, once more
  eroica deadletter list --bootstrap localhost:9092  the records that could not be used, and why
  eroica config check node.toml                      whether a configuration file is right

Exit codes: 0 nothing found, 1 findings, 2 error, 3 cannot tell. `eroica help COMMAND` explains more;
docs/CLI.md says what all commands have in common.)";

// What stands behind `eroica run ... --` is the job's, every byte of it: CLI11 would take a word
// such as [1,2] apart. It is cut off the command line.
std::vector<std::string> CutJob(int* argc, char** argv) {
  if (*argc < 2 || std::string_view(argv[1]) != "run") return {};
  const auto end = argv + *argc;
  const auto dashes =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes == end) return {};
  *argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

// The whole program but for its outermost boundary.
int Run(int argc, char** argv) {
  eroica::StartLogging();
  CLI::App app("Finds which rank and which function slow a training job down.", "eroica");
  app.set_version_flag("-V,--version", eroica::VersionText(),
                       "Print version, commit and libraries, and stop");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  int exit_code = eroica::kExitNothingFound;
  eroica::AddRunCommand(app, CutJob(&argc, argv), &exit_code);
  eroica::AddCaptureCommand(app, &exit_code);
  eroica::AddCheckCommand(app, &exit_code);
  eroica::AddDiagnoseCommand(app, &exit_code);
  eroica::AddImportCommand(app, &exit_code);
  eroica::AddNodeCommand(app, &exit_code);
  eroica::AddJobsCommand(app, &exit_code);
  eroica::AddFindingsCommand(app, &exit_code);
  eroica::AddTopCommand(app, &exit_code);
  eroica::AddExportCommand(app, &exit_code);
  eroica::AddAlertCommand(app, &exit_code);
  eroica::AddActCommand(app, &exit_code);
  eroica::AddRecordCommand(app, &exit_code);
  eroica::AddReplayCommand(app, &exit_code);
  eroica::AddTopicsCommand(app, &exit_code);
  eroica::AddDeadLetterCommand(app, &exit_code);
  eroica::AddConfigCommand(app, &exit_code);
  eroica::AddTokenCommand(app, &exit_code);
  eroica::AddCompletionCommand(app, &exit_code);
  eroica::AddManualCommand(app, &exit_code);
  return eroica::RunCommandLine(app, argc, argv, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return eroica::ExitAtBoundary([&] { return Run(argc, argv); });
}
