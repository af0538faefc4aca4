#include "ops/cli/command_outline.h"

#include <fmt/format.h>

#include <string_view>

#include "ops/cli/flag_values.h"
#include "ops/cli/footer_text.h"

namespace eroica {
namespace {

ValueKind KindOf(const OptionOutline& option) {
  if (!option.choices.empty()) return ValueKind::kChoice;
  if (option.names.front() == "TRACE") return ValueKind::kFile;
  if (option.value.empty()) return ValueKind::kNone;
  if (option.value == "DIR" || option.value == "[DIR]") return ValueKind::kFolder;
  return option.value == "FILE" ? ValueKind::kFile : ValueKind::kText;
}

OptionOutline OutlineOf(CLI::Option& option) {
  OptionOutline outline{.names = {},
                        .value = option.get_type_size() == 0 ? "" : option.get_type_name(),
                        .choices = ChoicesOf(option),
                        .is_list = option.get_delimiter() != '\0',
                        .is_required = option.get_required(),
                        .about = option.get_description(),
                        .group = option.get_group()};
  for (const std::string& name : option.get_snames()) outline.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) outline.names.push_back("--" + name);
  if (outline.names.empty()) outline.names.push_back(option.get_name());
  if (!outline.value.empty() && !option.get_default_str().empty())
    outline.about += " (default: " + option.get_default_str() + ")";
  outline.kind = KindOf(outline);
  return outline;
}

// "Exit codes: 0 done, 2 error. Further text." in its two parts.
void AddParagraph(const std::string& paragraph, CommandOutline* command) {
  constexpr std::string_view kExitCodes = "Exit codes: ";
  const size_t begin = paragraph.find(kExitCodes);
  if (begin == std::string::npos) {
    command->paragraphs.push_back(paragraph);
    return;
  }
  const size_t codes = begin + kExitCodes.size();
  const size_t stop = paragraph.find(". ", codes);
  const size_t end = stop == std::string::npos ? paragraph.size() : stop + 1;
  command->exit_codes = paragraph.substr(codes, end - codes);
  std::string text = paragraph.substr(0, begin);
  if (end < paragraph.size()) text += paragraph.substr(end + 1);
  while (text.ends_with(' ')) text.pop_back();
  if (!text.empty()) command->paragraphs.push_back(text);
}

void AddFooter(const std::string& footer, CommandOutline* command) {
  for (const FooterPart& part : ParseFooter(footer)) {
    if (part.is_paragraph && part.text != "Examples:") AddParagraph(part.text, command);
    if (!part.is_paragraph && !part.text.empty())
      command->examples.push_back(part.text.substr(part.text.find_first_not_of(' ')));
  }
}

CommandOutline Outline(CLI::App& app, const std::string& parent) {
  CommandOutline command{.path = parent.empty() ? app.get_name() : parent + " " + app.get_name(),
                         .about = app.get_description()};
  AddFooter(app.get_footer(), &command);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? command.positionals : command.options)
        .push_back(OutlineOf(*option));
  }
  for (CLI::App* subcommand : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!subcommand->get_group().empty())
      command.commands.push_back(Outline(*subcommand, command.path));
  }
  return command;
}

}  // namespace

CommandOutline OutlineOf(CLI::App& app) { return Outline(app, ""); }

std::vector<const CommandOutline*> AllCommands(const CommandOutline& root) {
  std::vector<const CommandOutline*> all = {&root};
  for (const CommandOutline& command : root.commands) {
    const std::vector<const CommandOutline*> below = AllCommands(command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string ShellCases(const CommandOutline& root) {
  std::string cases;
  for (const CommandOutline* command : AllCommands(root)) {
    if (command != &root)
      cases += fmt::format("      \"{}\") at=\"{}\" ;;\n", command->path, command->path);
  }
  return cases;
}

}  // namespace eroica
