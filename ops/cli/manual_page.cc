#include "ops/cli/manual_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace eroica {
namespace {

// Of the program as a whole; commands name what they read in their options.
constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
.B EROICA_BOOTSTRAP
Kafka brokers to ask first, for every command that takes
.BR \-\-bootstrap .
.TP
.B EROICA_CONFIG
The configuration file; empty: none.
.TP
.B EROICA_TOKEN
The token for a node that is asked over HTTP.
.TP
.BR NO_COLOR ", " COLUMNS ", " TZ
Colours, width and time zone of what is printed.
.SH FILES
.TP
.I ~/.config/eroica/config.toml
The configuration where no other is named
.RI ( $XDG_CONFIG_HOME
is heeded).
.TP
.I /etc/eroica/node.toml
The configuration of the service
.BR eroica\-node.service .
.TP
.I /var/lib/eroica
Its state.
)";

// Text in which no character is one of roff's own.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\': escaped += "\\e"; break;
      case '-': escaped += "\\-"; break;
      case '\'': escaped += "\\(aq"; break;
      case '`': escaped += "\\(ga"; break;
      case '^': escaped += "\\(ha"; break;
      case '~': escaped += "\\(ti"; break;
      default: escaped += c;
    }
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// As the line NAME wants it: "list what was found".
std::string Lowered(std::string about) {
  const bool is_word = about.size() > 1 && std::islower(static_cast<unsigned char>(about[1])) != 0;
  if (is_word) about[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(about[0])));
  while (about.ends_with('.')) about.pop_back();
  return about;
}

// Sentences end lines, so that none is longer than people edit.
std::string Paragraph(const std::string& text) {
  std::string lines = Escaped(text);
  for (size_t at = 0; (at = lines.find(". ", at)) != std::string::npos; at += 2)
    lines[at + 1] = '\n';
  for (size_t at = 0; (at = lines.find("\n.", at)) != std::string::npos; at += 3)
    lines.insert(at + 1, "\\&");
  return lines + "\n";
}

std::string OptionEntry(const OptionOutline& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Escaped(name));
    if (!option.value.empty()) names += fmt::format(" \\fI{}\\fR", Escaped(option.value));
  }
  return fmt::format(".TP\n{}\n{}", names, Paragraph(option.about));
}

std::string Synopsis(const CommandOutline& command) {
  std::string text = fmt::format(".SH SYNOPSIS\n.B {}\n", Escaped(command.path));
  if (!command.commands.empty()) text += ".I command\n";
  if (!command.options.empty()) text += "[\\fIoption\\fR ...]\n";
  for (const OptionOutline& positional : command.positionals) {
    const std::string name = fmt::format("\\fI{}\\fR", Escaped(positional.names.front()));
    text += positional.is_required ? name + "\n" : "[" + name + "]\n";
  }
  return text;
}

std::string Options(const CommandOutline& command) {
  std::string text;
  std::vector<std::string> groups;
  for (const OptionOutline& option : command.options) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    text += group == "Options" ? ".SH OPTIONS\n" : fmt::format(".SS {}\n", Escaped(group));
    for (const OptionOutline& option : command.options) {
      if (option.group == group) text += OptionEntry(option);
    }
  }
  return text;
}

std::string Examples(const CommandOutline& command) {
  if (command.examples.empty()) return "";
  std::string text = ".SH EXAMPLES\n";
  for (const std::string& example : command.examples) {
    const size_t gap = example.find("  ");
    text += ".PP\n";
    if (gap != std::string::npos)
      text += Paragraph(example.substr(example.find_first_not_of(' ', gap)) + ":");
    text += fmt::format(".RS 4\n.nf\n{}\n.fi\n.RE\n", Escaped(example.substr(0, gap)));
  }
  return text;
}

std::string SeeAlso(const CommandOutline& command, const CommandOutline& program) {
  std::vector<std::string> names;
  if (command.path != program.path) names.push_back(ManualName(program));
  for (const CommandOutline& below : command.commands) names.push_back(ManualName(below));
  std::string text = ".SH SEE ALSO\n";
  for (const std::string& name : names)
    text += fmt::format(".BR {} (1){}\n", Escaped(name), name == names.back() ? "" : ",");
  return text;
}

}  // namespace

std::string ManualName(const CommandOutline& command) {
  std::string name = command.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string ManualPage(const CommandOutline& command, const CommandOutline& program,
                       const std::string& version) {
  const bool is_program = command.path == program.path;
  std::string page = fmt::format(".TH {} 1 \"\" \"eroica {}\" \"User commands\"\n",
                                 Escaped(Upper(ManualName(command))), Escaped(version));
  page += fmt::format(".SH NAME\n{} \\- {}\n", Escaped(ManualName(command)),
                      Escaped(Lowered(command.about)));
  page += Synopsis(command) + ".SH DESCRIPTION\n" +
          Paragraph(command.about + (command.about.ends_with('.') ? "" : "."));
  for (const std::string& paragraph : command.paragraphs) page += ".PP\n" + Paragraph(paragraph);
  if (!command.positionals.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const OptionOutline& positional : command.positionals)
      page += fmt::format(".TP\n\\fI{}\\fR\n{}", Escaped(positional.names.front()),
                          Paragraph(positional.about));
  }
  if (!command.commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CommandOutline& below : command.commands)
      page +=
          fmt::format(".TP\n\\fB{}\\fR\n{}", Escaped(below.name()), Paragraph(below.about + "."));
  }
  page += Options(command);
  if (!command.exit_codes.empty()) page += ".SH EXIT STATUS\n" + Paragraph(command.exit_codes);
  if (is_program) page += kEnvironment;
  return page + Examples(command) + SeeAlso(command, program);
}

}  // namespace eroica
