// The program `eroica-lab`: how right the diagnosis is, on training jobs with a known truth.
// Nothing of the product links it.
#include <CLI/CLI.hpp>
#include <string>

#include "ops/cli/command_line.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/logging.h"
#include "tests/evaluation/lab/commands.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  eroica-lab simulate tests/scenarios/dev/gpu_slow_dp_8r.toml -o recording/
  eroica-lab score                                   every scenario of tests/scenarios/dev
  eroica-lab score --traces ../shared/traces         real traces
  eroica-lab real --traces ../shared/traces          the same as people record theirs

Exit codes: 0 all right, 1 something is not, 2 error. `eroica-lab COMMAND --help` tells more.)";

}  // namespace

int main(int argc, char** argv) {
  eroica::StartLogging();
  CLI::App app("Simulates training jobs with faults, and scores the diagnosis.", "eroica-lab");
  app.set_version_flag("--version", std::string("eroica-lab ") + EROICA_VERSION);
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  int exit_code = eroica::kExitNothingFound;
  eroica::AddRealCommand(app, &exit_code);
  eroica::AddScoreCommand(app, &exit_code);
  eroica::AddSimulateCommand(app, &exit_code);
  return eroica::RunCommandLine(app, argc, argv, exit_code);
}
