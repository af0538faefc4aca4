// The commands and options of the program as plain data, taken from its CLI11 app: what completion
// scripts (completion.h) and pages of the manual (manual_page.h) are made of. What help hides is
// not in it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace eroica {

enum class ValueKind : uint8_t { kNone, kText, kFile, kFolder, kChoice };

struct OptionOutline {
  std::vector<std::string> names;  // "-q", "--quiet"; of a positional: one, without dashes
  std::string value;               // "FILE"; empty: a flag
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> choices;  // of kChoice
  bool is_list = false;              // of choices, comma separated
  bool is_required = false;
  std::string about;
  std::string group;  // as in help: "Options"
};

struct CommandOutline {
  std::string path;  // "eroica topics create"
  std::string about;
  std::vector<std::string> examples;    // each perhaps with what it is for, two blanks behind it
  std::vector<std::string> paragraphs;  // that stand below them
  std::string exit_codes;               // "0 done, 2 error."; empty: as its parent
  std::vector<OptionOutline> options;
  std::vector<OptionOutline> positionals;
  std::vector<CommandOutline> commands;

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

// app: with all that is added to it.
CommandOutline OutlineOf(CLI::App& app);

// The command and all below it, parents first.
// For a shell's `case`: a branch for each subcommand that sets the variable `at` to its path.
std::string ShellCases(const CommandOutline& root);
std::vector<const CommandOutline*> AllCommands(const CommandOutline& root);

}  // namespace eroica
