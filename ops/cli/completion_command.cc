// eroica completion: the script by which a shell completes what is typed behind `eroica`.
#include <iostream>
#include <memory>
#include <string>

#include "ops/cli/commands.h"
#include "ops/cli/completion.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"

namespace eroica {

void AddCompletionCommand(CLI::App& app, int* exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->type_name("SHELL")
      ->check(OneOf({"bash", "zsh", "fish"}))
      ->required();
  command->footer(
      "Examples:\n"
      "  source <(eroica completion bash)                                        for this shell\n"
      "  eroica completion zsh > ~/.zfunc/_eroica                                for all, with "
      "~/.zfunc in fpath\n"
      "  eroica completion fish > ~/.config/fish/completions/eroica.fish\n\n"
      "The packages install all three. Exit codes: 0 printed, 2 error.");
  command->callback([&app, shell, exit_code] {
    const CommandOutline program = OutlineOf(app);
    std::cout << (*shell == "bash"  ? BashCompletion(program)
                  : *shell == "zsh" ? ZshCompletion(program)
                                    : FishCompletion(program));
    *exit_code = kExitNothingFound;
  });
}

}  // namespace eroica
