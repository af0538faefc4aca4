// Zsh: the same walk, with what each word is for beside it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/cli/completion.h"

namespace eroica {
namespace {

constexpr const char* kZshHead = R"(#compdef eroica
# zsh completion for eroica, made by `eroica completion zsh`
_eroica() {
  local at=eroica word previous=${words[CURRENT-1]} values=
  local -a offered commands
  integer index
  for (( index = 2; index < CURRENT; ++index )); do
    case "$at ${words[index]}" in
      "eroica run --") _normal; return ;;
)";

constexpr const char* kZshTail = R"(  esac
  [[ ${words[2]} == help ]] && offered=()
  if [[ ${words[CURRENT]} == -* ]]; then
    _describe option offered
  else
    (( $#commands )) && _describe command commands
    [[ -n $values ]] && _files
  fi
}
if [[ ${funcstack[1]} == _eroica ]]; then
  _eroica "$@"
else
  compdef _eroica eroica
fi
)";

std::string ZshQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// "name:what it is for", as _describe takes it.
std::string Described(const std::string& name, std::string_view about) {
  std::string escaped = name;
  for (size_t at = 0; (at = escaped.find(':', at)) != std::string::npos; at += 2)
    escaped.insert(at, "\\");
  return ZshQuoted(escaped + ":" + std::string(about));
}

std::string ZshValueCase(const std::string& path, const OptionOutline& option) {
  std::string patterns;
  for (const std::string& name : option.names)
    patterns += fmt::format("{}\"{} {}\"", patterns.empty() ? "" : "|", path, name);
  std::string action;
  switch (option.kind) {
    case ValueKind::kChoice:
      action = fmt::format("{} {}; ", option.is_list ? "_values -s , value" : "compadd --",
                           fmt::join(option.choices, " "));
      break;
    case ValueKind::kFile: action = "_files; "; break;
    case ValueKind::kFolder: action = "_files -/; "; break;
    default: break;
  }
  return fmt::format("    {}) {}return ;;\n", patterns, action);
}

}  // namespace

std::string ZshCompletion(const CommandOutline& program) {
  std::string script = kZshHead + ShellCases(program);
  std::string values;
  std::string offers;
  for (const CommandOutline* command : AllCommands(program)) {
    std::string offered;
    for (const OptionOutline& option : command->options) {
      for (const std::string& name : option.names)
        offered += "\n        " + Described(name, option.about);
      if (option.kind != ValueKind::kNone) values += ZshValueCase(command->path, option);
    }
    std::string commands =
        command == &program ? "\n        " + Described("help", "What a command does") : "";
    for (const CommandOutline& below : command->commands)
      commands += "\n        " + Described(below.name(), below.about);
    bool paths = false;
    for (const OptionOutline& positional : command->positionals) {
      paths |= positional.kind == ValueKind::kFile || positional.kind == ValueKind::kFolder;
      for (const std::string& choice : positional.choices)
        commands += "\n        " + Described(choice, "");
    }
    offers +=
        fmt::format("    \"{}\")\n      offered=({})\n      commands=({})\n      values={} ;;\n",
                    command->path, offered, commands, paths ? "paths" : "");
  }
  return script + "    esac\n  done\n  case \"$at $previous\" in\n" + values +
         "  esac\n  case \"$at\" in\n" + offers + kZshTail;
}

}  // namespace eroica
