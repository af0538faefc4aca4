// eroica token: makes a token for REST and the line of the token file that takes it.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/rest/tokens.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct TokenFlags {
  std::string name;
  std::vector<std::string> scopes = {"read"};
  bool json = false;
};

absl::Status Make(const TokenFlags& flags) {
  Scopes scopes;
  for (const std::string& scope : flags.scopes)
    (scope == "read" ? scopes.read : scopes.control) = true;
  const absl::StatusOr<NewToken> made = MakeToken(flags.name, scopes);
  if (!made.ok()) return made.status();
  if (flags.json) {
    const nlohmann::ordered_json json{{"name", flags.name},
                                      {"scopes", flags.scopes},
                                      {"token", made->token},
                                      {"line", made->line}};
    std::cout << PrintableJson(
                     json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace))
              << std::endl;
    return absl::OkStatus();
  }
  // The line can be redirected into the file, and the token is seen by whoever made it alone.
  std::cerr << fmt::format("token for {}, shown this once: {}\n", Printable(flags.name),
                           made->token);
  std::cout << made->line << std::endl;
  return absl::OkStatus();
}

}  // namespace

void AddTokenCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<TokenFlags>();
  CLI::App* command =
      app.add_subcommand("token", "Make a token for a node's REST and its line of the token file");
  command->add_option("--name", flags->name, "Whose it is: stands in the audit")
      ->type_name("NAME")
      ->required();
  command->add_option("--scope", flags->scopes, "What it allows")
      ->type_name("read,control")
      ->delimiter(',')
      ->check(OneOf({"read", "control"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "Token and line as one JSON object on standard output: a secret");
  command->footer(
      "Examples:\n"
      "  eroica token --name grafana >> tokens                        may read\n"
      "  eroica token --name oncall --scope read,control >> tokens    and acknowledge, mute, "
      "capture\n"
      "  eroica node --recording recording/ --set rest.token_file=tokens\n\n"
      "The token is printed on standard error, its line (a SHA-256, no secret) on standard "
      "output.\nExit codes: 0 made, 2 error.");
  command->callback([flags, exit_code] {
    const absl::Status status = Make(*flags);
    *exit_code = status.ok() ? kExitNothingFound : ExitWithError(status);
  });
}

}  // namespace eroica
