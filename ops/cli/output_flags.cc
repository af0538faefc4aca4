#include "ops/cli/output_flags.h"

#include <map>
#include <string>

#include "ops/cli/flag_values.h"
#include "ops/cli/logging.h"
#include "ops/cli/terminal.h"

namespace eroica {
namespace {

constexpr const char* kGroup = "Of every command";

void AddTo(CLI::App& command) {
  auto* quiet = command.add_flag_callback(
      "-q,--quiet",
      [] {
        SetQuiet(true);
        SetVerbosity(Verbosity::kQuiet);
      },
      "Results and errors only: no progress, no remarks");
  quiet->group(kGroup);
  command
      .add_flag_callback(
          "-v,--verbose", [] { SetVerbosity(Verbosity::kVerbose); },
          "Log on standard error what is done")
      ->excludes(quiet)
      ->group(kGroup);
  const std::map<std::string, ColorWhen> choices = {
      {"auto", ColorWhen::kAuto}, {"always", ColorWhen::kAlways}, {"never", ColorWhen::kNever}};
  command
      .add_option_function<std::string>(
          "--color", [choices](const std::string& when) { SetColor(choices.at(when)); },
          "Colours: auto (on a terminal, unless NO_COLOR is set), always, never")
      ->type_name("WHEN")
      ->check(OneOf({"auto", "always", "never"}))
      ->group(kGroup);
}

}  // namespace

void AddOutputFlags(CLI::App& app) {
  const auto all = [](CLI::App*) { return true; };
  for (CLI::App* command : app.get_subcommands(all)) {
    if (command->get_subcommands(all).empty()) {
      AddTo(*command);
    } else {
      AddOutputFlags(*command);
    }
  }
}

}  // namespace eroica
