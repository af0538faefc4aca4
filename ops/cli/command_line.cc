#include "ops/cli/command_line.h"

#include <iostream>
#include <memory>
#include <string_view>

#include "ops/cli/exit_code.h"
#include "ops/cli/help_format.h"
#include "ops/cli/output_flags.h"
#include "ops/cli/standard_output.h"
#include "ops/cli/terminal.h"
#include "ops/cli/usage_error.h"

namespace eroica {
namespace {

void SetFormat(CLI::App& app, const std::shared_ptr<HelpFormat>& format) {
  app.formatter(format);
  app.get_help_ptr()->description("Print this and stop");
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    SetFormat(*command, format);
}

const CLI::App* FindSubcommand(const CLI::App& command, std::string_view name) {
  const auto found =
      command.get_subcommands([name](const CLI::App* app) { return app->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// `eroica help [COMMAND...]`.
int ShowHelp(const CLI::App& app, int words, char** word) {
  const CLI::App* command = &app;
  for (int i = 0; i < words; ++i) {
    const CLI::App* next = FindSubcommand(*command, word[i]);
    if (next == nullptr)
      return ExitWithError(absl::InvalidArgumentError(NoSuchCommandText(*command, word[i])));
    command = next;
  }
  std::cout << command->help(command == &app ? "" : FullName(*command->get_parent()));
  return kExitNothingFound;
}

int ParseAndRun(CLI::App& app, int argc, char** argv, const int& exit_code) {
  if (argc > 1 && std::string_view(argv[1]) == "help") return ShowHelp(app, argc - 2, argv + 2);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return ExitWithError(absl::InvalidArgumentError(UsageErrorText(app, error)));
  }
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return kExitError;
  }
  return exit_code;
}

}  // namespace

int RunCommandLine(CLI::App& app, int argc, char** argv, const int& exit_code) {
  HoldStandardDescriptors();
  StandardOutput output;
  AddOutputFlags(app);
  SetFormat(app, std::make_shared<HelpFormat>(OutputWidth()));
  const int ended = ParseAndRun(app, argc, argv, exit_code);
  if (const absl::Status status = output.Finish(); !status.ok()) return ExitWithError(status);
  return ended;
}

}  // namespace eroica
