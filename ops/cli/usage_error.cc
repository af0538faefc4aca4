#include "ops/cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "ops/config/nearest_name.h"

namespace eroica {
namespace {

const CLI::App& CommandOf(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::vector<std::string> SubcommandsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(subcommand->get_name());
  return names;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string SeeHelp(const CLI::App& command) {
  return fmt::format("; see `{} --help`", FullName(command));
}

// A word or option that nothing takes.
std::string ExtraText(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) {
    if (!SubcommandsOf(command).empty()) return NoSuchCommandText(command, word);
    return fmt::format("`{}` takes no '{}'{}", FullName(command), word, SeeHelp(command));
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string given = word.substr(0, word.find('='));
  const std::string meant = DidYouMean(given, known);
  return fmt::format("`{}` has no option {}{}", FullName(command), given,
                     meant.empty() ? SeeHelp(command) : meant);
}

// Of a message of CLI11 that begins with the name of an option.
const CLI::Option* OptionNamed(const CLI::App& command, std::string_view message) {
  const std::string name(message.substr(0, message.find_first_of(": ")));
  return command.get_option_no_throw(name);
}

std::string MissingText(const CLI::App& command, std::string_view message) {
  constexpr std::string_view kEnd = " is required";
  const std::vector<std::string> subcommands = SubcommandsOf(command);
  if (!subcommands.empty())
    return fmt::format("which command? `{}` has {}", FullName(command),
                       fmt::join(subcommands, ", "));
  return fmt::format("`{}` needs {}{}", FullName(command),
                     message.substr(0, message.size() - kEnd.size()), SeeHelp(command));
}

// "A requires B" and "A excludes B".
std::string PairText(std::string_view message, std::string_view verb, std::string_view text) {
  const size_t at = message.find(verb);
  return fmt::format(fmt::runtime(text), message.substr(0, at), message.substr(at + verb.size()));
}

}  // namespace

std::string FullName(const CLI::App& command) {
  const std::string above =
      command.get_parent() == nullptr ? "" : FullName(*command.get_parent()) + " ";
  return above + command.get_name();
}

std::string NoSuchCommandText(const CLI::App& command, const std::string& word) {
  const std::vector<std::string> known = SubcommandsOf(command);
  const std::string meant = DidYouMean(word, known);
  return fmt::format("`{}` has no command '{}'{}", FullName(command), word,
                     meant.empty() ? fmt::format("; it has {}", fmt::join(known, ", ")) : meant);
}

std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = CommandOf(app);
  const std::string message = error.what();
  const std::vector<std::string> extra = app.remaining(true);
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      return extra.empty() ? message : ExtraText(command, extra.front());
    case CLI::ExitCodes::RequiredError:
      return extra.empty() ? MissingText(command, message) : ExtraText(command, extra.front());
    case CLI::ExitCodes::ExcludesError:
      return PairText(message, " excludes ", "{} and {} do not go together: give one of them");
    case CLI::ExitCodes::RequiresError: return PairText(message, " requires ", "{} needs {}");
    case CLI::ExitCodes::ArgumentMismatch:
      if (const CLI::Option* option = OptionNamed(command, message)) {
        return option->get_expected_min() > 0
                   ? fmt::format("{} needs a value: {} {}{}", option->get_name(),
                                 option->get_name(), option->get_type_name(), SeeHelp(command))
                   : message;
      }
      return message;
    default: return message;
  }
}

}  // namespace eroica
