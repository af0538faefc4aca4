// eroica check: what can be captured on this machine, and why the rest cannot.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ops/cli/capture_check.h"
#include "ops/cli/commands.h"
#include "ops/cli/machine_facts.h"

namespace eroica {
namespace {

struct CheckFlags {
  MachineQuestions questions;
  bool json = false;
};

void PrintText(const std::vector<SourceCheck>& checks, bool can) {
  for (const SourceCheck& check : checks) {
    std::cout << fmt::format("{:<10} {:<7} {}\n", check.source, ToString(check.capture), check.why);
    if (check.capture != Capture::kYes && !check.to_do.empty())
      std::cout << fmt::format("{:<18} -> {}\n", "", check.to_do);
  }
  std::cout << (can ? "\nA job can be captured: eroica run -- COMMAND...\n"
                    : "\nA job cannot be captured here.\n");
}

void PrintJson(const std::vector<SourceCheck>& checks, bool can) {
  nlohmann::ordered_json sources = nlohmann::ordered_json::array();
  for (const SourceCheck& check : checks) {
    sources.push_back({{"source", check.source},
                       {"capture", ToString(check.capture)},
                       {"why", check.why},
                       {"to_do", check.to_do}});
  }
  const nlohmann::ordered_json object{{"can_capture", can}, {"sources", sources}};
  // What a library or a path says of itself need not be UTF-8.
  std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << "\n";
}

}  // namespace

void AddCheckCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand(
      "check", "Say what can be captured on this machine, and why the rest cannot");
  auto* recording = command->add_option("-o,--recording", flags->questions.recording,
                                        "Folder that a recording would go to (default: here)");
  recording->type_name("DIR");
  command
      ->add_option("--kafka", flags->questions.kafka,
                   "Ask this Kafka instead: can it be reached, are the topics as planned?")
      ->type_name("HOST:PORT")
      ->excludes(recording);
  command->add_flag("--json", flags->json, "One JSON object");
  command->footer(
      "Examples:\n"
      "  eroica check\n"
      "  eroica check --recording /scratch/night\n"
      "  eroica check --kafka broker:9092 --json\n"
      "  srun -N 16 --ntasks-per-node 1 eroica check --json\n\n"
      "Run it where the job runs, in the environment of the job.\n"
      "Exit codes: 0 a job can be captured (at least steps by Python, or collectives by NCCL), 1 "
      "it cannot, 2 error.");
  command->callback([flags, exit_code] {
    const std::vector<SourceCheck> checks = CheckSources(AskMachine(flags->questions));
    const bool can = CanCapture(checks);
    flags->json ? PrintJson(checks, can) : PrintText(checks, can);
    *exit_code = can ? 0 : 1;
  });
}

}  // namespace eroica
