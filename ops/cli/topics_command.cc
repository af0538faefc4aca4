// eroica topics create|check
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/open_log.h"
#include "ops/cli/topic_plan.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct TopicsFlags {
  ConfigFlags config;
  bool json = false;
};

// What came of one topic.
struct Outcome {
  std::string state;  // "created", "as planned", "different", "missing"
  std::vector<std::string> problems;
};

void Print(const std::string& topic, const Outcome& outcome, bool json) {
  if (json) {
    const nlohmann::ordered_json object{
        {"topic", topic}, {"state", outcome.state}, {"problems", outcome.problems}};
    std::cout << PrintableJson(
                     object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))
              << "\n";
    return;
  }
  std::cout << fmt::format("{:<24} {}\n", Printable(topic), outcome.state);
  for (const std::string& problem : outcome.problems)
    std::cout << "  " << Printable(problem) << "\n";
}

absl::StatusOr<Outcome> CheckTopic(LogAdmin& admin, const TopicSpec& planned) {
  const absl::StatusOr<TopicSpec> found = admin.DescribeTopic(planned.name);
  if (absl::IsNotFound(found.status()))
    return Outcome{"missing", {"there is no such topic: run `eroica topics create`"}};
  if (!found.ok()) return found.status();
  Outcome outcome{"as planned", DifferencesFromPlan(planned, *found)};
  if (!outcome.problems.empty()) outcome.state = "different";
  return outcome;
}

// A topic that is there already is held against the plan instead.
absl::StatusOr<Outcome> CreateTopic(LogAdmin& admin, const TopicSpec& planned) {
  const absl::Status status = admin.CreateTopic(planned);
  if (absl::IsAlreadyExists(status)) return CheckTopic(admin, planned);
  if (!status.ok()) return status;
  return Outcome{"created", {}};
}

using Act = absl::StatusOr<Outcome> (*)(LogAdmin&, const TopicSpec&);

int Run(const TopicsFlags& flags, LogAccess access, Act act) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return ExitWithError(config.status());
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(*config, access);
  if (!log.ok()) return ExitWithError(log.status());
  int exit_code = kExitNothingFound;
  for (const TopicSpec& planned : PlanTopics(*config)) {
    const absl::StatusOr<Outcome> outcome = act((*log)->admin(), planned);
    if (!outcome.ok()) return ExitWithError(outcome.status());
    Print(planned.name, *outcome, flags.json);
    if (!outcome->problems.empty()) exit_code = kExitError;
  }
  return exit_code;
}

}  // namespace

void AddTopicsCommand(CLI::App& app, int* exit_code) {
  CLI::App* topics = app.add_subcommand(
      "topics", "Create the topics, or check that they are as the configuration wants them");
  topics->require_subcommand(1);
  topics->footer(
      "Examples:\n"
      "  eroica topics create --bootstrap localhost:9092 --set topics.replication=3\n"
      "  eroica topics check --config node.toml\n\n"
      "Exit codes: 0 as planned, 2 something is missing or different, or an error.");
  const auto add = [&](const char* name, const char* about, const char* example, LogAccess access,
                       Act act) {
    auto flags = std::make_shared<TopicsFlags>();
    CLI::App* command = topics->add_subcommand(name, about);
    flags->config.AddTo(*command);
    command->add_flag("--json", flags->json, "One JSON object a topic");
    command->footer(fmt::format(
        "Examples:\n  {}\n\nExit codes: 0 as planned, 2 something is missing or different, or an "
        "error.",
        example));
    command->callback([flags, access, act, exit_code] { *exit_code = Run(*flags, access, act); });
  };
  add("create", "Create the topics that are missing, check the others",
      "eroica topics create --bootstrap localhost:9092 --set topics.replication=3",
      LogAccess::kWrite, &CreateTopic);
  add("check", "Say what is missing or different, and what to do",
      "eroica topics check --config node.toml", LogAccess::kRead, &CheckTopic);
}

}  // namespace eroica
