// Fish: one line for each command, option and value, and a function that says which command the
// words up to the cursor name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/cli/completion.h"

namespace eroica {
namespace {

constexpr const char* kFishHead = R"(# fish completion for eroica, made by `eroica completion fish`
function __eroica_at
    set -l at eroica
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" $__eroica_commands
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c eroica -f
complete -c eroica -n '__eroica_at eroica' -a help -d 'What a command does'
)";

std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string ValueFlags(const OptionOutline& option) {
  switch (option.kind) {
    case ValueKind::kNone: return "";
    case ValueKind::kText: return " -x";
    case ValueKind::kFile: return " -r -F";
    case ValueKind::kFolder: return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kChoice:
      return fmt::format(" -x -a {}",
                         FishQuoted(fmt::format("{}", fmt::join(option.choices, " "))));
  }
  return "";
}

std::string NameFlags(const OptionOutline& option) {
  std::string flags;
  for (const std::string& name : option.names)
    flags += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return flags;
}

}  // namespace

std::string FishCompletion(const CommandOutline& program) {
  std::string paths = "set -g __eroica_commands";
  std::string lines;
  for (const CommandOutline* command : AllCommands(program)) {
    if (command != &program) paths += " " + FishQuoted(command->path);
    const std::string line =
        fmt::format("complete -c eroica -n {}",
                    FishQuoted(fmt::format("__eroica_at {}", FishQuoted(command->path))));
    for (const CommandOutline& below : command->commands)
      lines += fmt::format("{} -a {} -d {}\n", line, below.name(), FishQuoted(below.about));
    for (const OptionOutline& option : command->options)
      lines += fmt::format("{}{}{} -d {}\n", line, NameFlags(option), ValueFlags(option),
                           FishQuoted(option.about));
    for (const OptionOutline& positional : command->positionals) {
      if (positional.kind == ValueKind::kFile || positional.kind == ValueKind::kFolder)
        lines += line + " -F\n";
      if (positional.kind == ValueKind::kChoice)
        lines += fmt::format("{} -a {}\n", line,
                             FishQuoted(fmt::format("{}", fmt::join(positional.choices, " "))));
    }
  }
  return kFishHead + paths + "\n" + lines;
}

}  // namespace eroica
