#include "ops/cli/help_format.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/cli/footer_text.h"
#include "ops/cli/wrapped_text.h"

namespace eroica {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kAbout = 28;  // column where it begins

// A command that is longer than the line, as a shell takes it. An option stays with its value.
std::string ContinuedText(const std::string& command, size_t width, size_t indent) {
  constexpr std::string_view kOn = " \\";
  std::istringstream words(command);
  std::vector<std::string> parts;
  for (std::string word; words >> word;) {
    const bool is_value = !parts.empty() && parts.back().starts_with('-') &&
                          !word.starts_with('-') && parts.back().find(' ') == std::string::npos;
    if (is_value) {
      parts.back() += " " + word;
    } else {
      parts.push_back(word);
    }
  }
  std::string text;
  size_t column = indent;
  for (const std::string& part : parts) {
    const bool fits = column + 1 + part.size() + kOn.size() <= width;
    if (!text.empty()) text += fits ? " " : std::string(kOn) + "\n" + std::string(indent, ' ');
    column = fits ? column + 1 + part.size() : indent + part.size();
    text += part;
  }
  return text;
}

// An example and what it is for stand in one line where there is room for both.
std::string ExampleText(const std::string& line, size_t width) {
  if (line.size() <= width) return line;
  const size_t begin = line.find_first_not_of(' ');
  const size_t gap = std::min(line.find("  ", begin), line.size());
  const size_t about = line.find_first_not_of(' ', gap);
  const size_t indent = begin + 4;
  const std::string blanks(indent, ' ');
  std::string text =
      blanks.substr(0, begin) + ContinuedText(line.substr(begin, gap - begin), width, indent);
  if (about != std::string::npos)
    text += "\n" + blanks + Wrapped(line.substr(about), width, indent);
  return text;
}

}  // namespace

std::string HelpFormat::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
  std::string help = Formatter::make_help(app, std::move(name), mode);
  for (size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
  return help;
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return Wrapped(app->get_description(), width_, 0) + "\n";
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = Formatter::make_usage(app, std::move(name));
  while (usage.ends_with('\n')) usage.pop_back();
  return Wrapped(usage, width_, 7) + "\n";
}

std::string HelpFormat::make_footer(const CLI::App* app) const {
  std::string text;
  for (const FooterPart& part : ParseFooter(app->get_footer()))
    text +=
        (part.is_paragraph ? Wrapped(part.text, width_, 0) : ExampleText(part.text, width_)) + "\n";
  return text;
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return Row(command->get_name(), command->get_description());
}

// What excludes what is said when both are given.
std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional);
  const std::string text = option->get_option_text();
  if (!text.empty()) {
    name += " " + text;
  } else if (option->get_type_size() != 0) {
    if (!option->get_type_name().empty()) name += " " + option->get_type_name();
    if (!option->get_default_str().empty()) name += " (" + option->get_default_str() + ")";
  }
  return Row(name, make_option_desc(option));
}

std::string HelpFormat::Row(const std::string& name, const std::string& about) const {
  std::string row(kIndent, ' ');
  row += name;
  row += row.size() + 2 > kAbout ? "\n" + std::string(kAbout, ' ')
                                 : std::string(kAbout - row.size(), ' ');
  return row + Wrapped(about, width_, kAbout) + "\n";
}

}  // namespace eroica
