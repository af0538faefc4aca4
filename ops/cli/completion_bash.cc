// Bash: a function that follows the words up to the cursor to the command that they name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/cli/completion.h"

namespace eroica {
namespace {

constexpr const char* kBashHead = R"(# bash completion for eroica, made by `eroica completion bash`
_eroica() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local at=eroica words="" index
  # --severity=major comes as three words.
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $previous == "=" ]]; then
    previous="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; ++index)); do
    case "$at ${COMP_WORDS[index]}" in
      "eroica run --")
        mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
        return ;;
      "eroica help") ;;
)";

constexpr const char* kBashTail = R"(  esac
  [[ ${COMP_WORDS[1]} == help && $COMP_CWORD -gt 1 ]] && words=""
  mapfile -t COMPREPLY < <(compgen -W "$words $commands" -- "$current")
  if [[ -n $paths && $current != -* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current"; compgen "$paths" -- "$current")
  fi
}
complete -F _eroica eroica
)";

// What stands behind an option that takes a value.
std::string BashValueCase(const std::string& path, const OptionOutline& option) {
  std::string patterns;
  for (const std::string& name : option.names)
    patterns += fmt::format("{}\"{} {}\"", patterns.empty() ? "" : "|", path, name);
  std::string action;
  if (option.kind == ValueKind::kChoice) {
    const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
    action =
        option.is_list
            ? fmt::format(
                  R"(mapfile -t COMPREPLY < <(compgen -P "${{current%"${{current##*,}}"}}" )"
                  R"(-W "{}" -- "${{current##*,}}"))",
                  choices)
            : fmt::format(R"(mapfile -t COMPREPLY < <(compgen -W "{}" -- "$current"))", choices);
  } else if (option.kind == ValueKind::kFile || option.kind == ValueKind::kFolder) {
    action = fmt::format(
        R"(compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -{} -- "$current"))",
        option.kind == ValueKind::kFile ? "f" : "d");
  }
  return fmt::format("    {})\n      {}{}return ;;\n", patterns, action,
                     action.empty() ? "" : "; ");
}

}  // namespace

std::string BashCompletion(const CommandOutline& program) {
  std::string script = kBashHead + ShellCases(program);
  std::string values;
  std::string offers;
  for (const CommandOutline* command : AllCommands(program)) {
    std::string names;
    std::string commands = command == &program ? "help" : "";
    std::string paths;
    for (const OptionOutline& option : command->options) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
      if (option.kind != ValueKind::kNone) values += BashValueCase(command->path, option);
    }
    for (const CommandOutline& below : command->commands)
      commands += (commands.empty() ? "" : " ") + below.name();
    for (const OptionOutline& positional : command->positionals) {
      if (positional.kind == ValueKind::kFile) paths = "-f";
      if (positional.kind == ValueKind::kFolder) paths = "-d";
      if (positional.kind == ValueKind::kChoice)
        commands += fmt::format("{}", fmt::join(positional.choices, " "));
    }
    offers += fmt::format("    \"{}\") words=\"{}\" commands=\"{}\" paths=\"{}\" ;;\n",
                          command->path, names, commands, paths);
  }
  return script + "    esac\n  done\n  case \"$at $previous\" in\n" + values +
         "  esac\n  local commands=\"\" paths=\"\"\n  case \"$at\" in\n" + offers + kBashTail;
}

}  // namespace eroica
