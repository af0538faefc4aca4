// eroica manual, hidden: the build makes the pages of the manual by it.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/manual_page.h"

namespace eroica {
namespace {

struct ManualFlags {
  std::vector<std::string> command;  // words; empty: the program itself
  std::string folder;
};

absl::Status WritePages(const CommandOutline& program, const std::string& folder) {
  for (const CommandOutline* command : AllCommands(program)) {
    const std::string path = fmt::format("{}/{}.1", folder, ManualName(*command));
    std::ofstream file(path);
    file << ManualPage(*command, program, EROICA_VERSION) << std::flush;
    if (!file)
      return absl::UnavailableError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status PrintPage(const CommandOutline& program, const std::vector<std::string>& words) {
  std::string path = program.path;
  for (const std::string& word : words) path += " " + word;
  for (const CommandOutline* command : AllCommands(program)) {
    if (command->path != path) continue;
    std::cout << ManualPage(*command, program, EROICA_VERSION);
    return absl::OkStatus();
  }
  return absl::NotFoundError(fmt::format("there is no command `{}`", path));
}

}  // namespace

void AddManualCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ManualFlags>();
  CLI::App* command = app.add_subcommand("manual", "Print a page of the manual, in man(7)");
  command->group("");
  auto* words = command->add_option("command", flags->command, "Of this one");
  command->add_option("-o,--output", flags->folder, "All pages, into this folder")
      ->type_name("DIR")
      ->excludes(words);
  command->footer(
      "Examples:\n"
      "  eroica manual topics create | man -l -\n\n"
      "Exit codes: 0 printed, 2 error.");
  command->callback([&app, flags, exit_code] {
    const CommandOutline program = OutlineOf(app);
    const absl::Status status = flags->folder.empty() ? PrintPage(program, flags->command)
                                                      : WritePages(program, flags->folder);
    *exit_code = status.ok() ? kExitNothingFound : ExitWithError(status);
  });
}

}  // namespace eroica
