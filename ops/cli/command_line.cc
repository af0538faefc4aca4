#include "ops/cli/command_line.h"

#include <iostream>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/config/nearest_name.h"

namespace eroica {
namespace {

// What the user may have meant by a word that no command or option takes; empty where nothing is
// near.
std::string Suggestion(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return "";
  std::vector<std::string> known;
  for (const CLI::App* subcommand : command->get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(subcommand->get_name());
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string nearest = NearestName(extra.front(), known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace

int RunCommandLine(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return ExitWithError(absl::InvalidArgumentError(error.what() + Suggestion(app)));
  }
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return kExitError;
  }
  return exit_code;
}

}  // namespace eroica
