// eroica config: whether a file is right, what holds, and what a key means.
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/alert_sinks.h"
#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/node_rest.h"
#include "ops/cli/option_text.h"
#include "ops/cli/rest_access.h"
#include "ops/cli/terminal.h"
#include "ops/config/config_file.h"
#include "ops/config/config_text.h"
#include "ops/config/secret.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct ConfigCheckFlags {
  std::string file;
  bool json = false;
};

struct PrintFlags {
  ConfigFlags config;
  bool json = false;
};

struct ExplainFlags {
  std::string key;
  bool json = false;
};

// What no single key tells. Files and variables that hold secrets may be elsewhere: they are not
// asked for.
absl::Status CheckTogether(const NodeConfig& config) {
  if (!config.node.recording.empty() && !config.kafka.bootstrap.empty())
    return absl::InvalidArgumentError(
        "node.recording and kafka.bootstrap are both given: name one of them");
  for (const auto& [name, value] : config.kafka.properties) {
    if (HoldsSecret(name))
      return absl::InvalidArgumentError(
          fmt::format("kafka.properties.{} is a secret and must not stand in the configuration; "
                      "name a file that holds it ({}_file) or an environment variable ({}_env)",
                      name, name, name));
  }
  for (const auto& [option, listen] : {std::pair("alerts.listen", config.alerts.listen),
                                       std::pair("act.listen", config.act.listen)}) {
    if (listen.empty()) continue;
    if (absl::Status status = AddressToListenOn(config, option, listen).status(); !status.ok())
      return status;
  }
  if (absl::Status status = CheckAlertUrls(config); !status.ok()) return status;
  return CheckRest(config);
}

absl::Status CheckFile(const std::string& file) {
  NodeConfig config;
  if (absl::Status status = ApplyConfigFile(file, &config); !status.ok()) return status;
  const absl::Status together = CheckTogether(config);
  return together.ok() ? together
                       : absl::Status(together.code(),
                                      fmt::format("{}: {}", file, std::string(together.message())));
}

int RunCheck(const ConfigCheckFlags& flags) {
  const absl::Status status = CheckFile(flags.file);
  if (flags.json) {
    std::vector<std::string> problems;
    if (!status.ok()) problems = absl::StrSplit(std::string(status.message()), '\n');
    const nlohmann::ordered_json json{
        {"file", flags.file}, {"ok", status.ok()}, {"problems", problems}};
    std::cout << PrintableJson(
                     json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))
              << "\n";
    return status.ok() ? kExitNothingFound : kExitError;
  }
  if (!status.ok()) return ExitWithError(status);
  std::cout << fmt::format("{}: OK\n", Printable(flags.file));
  return kExitNothingFound;
}

int RunPrint(const PrintFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return ExitWithError(config.status());
  std::cout << (flags.json ? ConfigToJson(*config) + "\n" : ConfigToToml(*config));
  return kExitNothingFound;
}

int RunExplain(const ExplainFlags& flags) {
  const std::vector<const Option*> options = OptionsNamed(flags.key);
  if (options.empty())
    return ExitWithError(absl::InvalidArgumentError(NoSuchOptionText(flags.key)));
  for (const Option* option : options) {
    if (flags.json) {
      std::cout << OptionJson(*option) << "\n";
    } else {
      std::cout << (option == options.front() ? "" : "\n") << OptionText(*option, OutputWidth());
    }
  }
  return kExitNothingFound;
}

void AddCheck(CLI::App& config, int* exit_code) {
  auto flags = std::make_shared<ConfigCheckFlags>();
  CLI::App* command = config.add_subcommand("check", "Whether a file is a configuration");
  command->add_option("file", flags->file, "TOML file")->type_name("FILE")->required();
  command->add_flag("--json", flags->json, "One JSON object");
  command->footer(
      "Examples:\n"
      "  eroica config check node.toml\n"
      "  eroica config check /etc/eroica/node.toml --json | jq -r '.problems[]'\n\n"
      "Each problem is a line with the file and the line in it, and the key that was meant, "
      "perhaps. Exit codes: 0 it is one, 2 it is none, or an error.");
  command->callback([flags, exit_code] { *exit_code = RunCheck(*flags); });
}

void AddPrint(CLI::App& config, int* exit_code) {
  auto flags = std::make_shared<PrintFlags>();
  CLI::App* command = config.add_subcommand(
      "print", "The configuration that holds: defaults, file, environment, flags");
  flags->config.AddTo(*command);
  command->add_flag("--json", flags->json, "One JSON object, by key");
  command->footer(
      "Examples:\n"
      "  eroica config print --bootstrap broker:9092 > node.toml\n"
      "  eroica config print --config node.toml --set runtime.memory_mib=4096 --json | jq "
      "'.\"runtime.memory_mib\"'\n\n"
      "A complete file, with what each key is for. Secrets are not shown. Exit codes: 0 printed, 2 "
      "error.");
  command->callback([flags, exit_code] { *exit_code = RunPrint(*flags); });
}

void AddExplain(CLI::App& config, int* exit_code) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = config.add_subcommand(
      "explain", "What a key means, its type, unit, default and what is allowed");
  command->add_option("key", flags->key, "A key, or a section for all keys in it")
      ->type_name("KEY")
      ->required();
  command->add_flag("--json", flags->json, "One JSON object a key");
  command->footer(
      "Examples:\n"
      "  eroica config explain runtime.idle_timeout_ms\n"
      "  eroica config explain kafka\n"
      "  eroica config explain topics --json | jq -r .key\n\n"
      "Exit codes: 0 explained, 2 there is no such key, or an error.");
  command->callback([flags, exit_code] { *exit_code = RunExplain(*flags); });
}

}  // namespace

void AddConfigCommand(CLI::App& app, int* exit_code) {
  CLI::App* config =
      app.add_subcommand("config", "Check a configuration file, print what holds, explain a key");
  config->require_subcommand(1);
  config->footer(
      "Examples:\n"
      "  eroica config check node.toml\n"
      "  eroica config print --set runtime.memory_mib=4096\n"
      "  eroica config explain rest.listen\n\n"
      "Exit codes: 0 done, 2 error. docs/reference/config.md lists all keys.");
  AddCheck(*config, exit_code);
  AddPrint(*config, exit_code);
  AddExplain(*config, exit_code);
}

}  // namespace eroica
