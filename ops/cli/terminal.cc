#include "ops/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace eroica {
namespace {

std::atomic<ColorWhen> color_when = ColorWhen::kAuto;
std::atomic<bool> is_quiet = false;

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::optional<size_t> TerminalColumns(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

size_t WidthOf(int fd) { return ChooseWidth(Variable("COLUMNS"), TerminalColumns(fd)); }

bool ColorsOf(int fd) {
  return ChooseColor(color_when, ::isatty(fd) == 1, Variable("NO_COLOR"), Variable("TERM"));
}

}  // namespace

size_t ChooseWidth(std::string_view columns, std::optional<size_t> terminal) {
  size_t width = terminal.value_or(kWidthElsewhere);
  size_t asked = 0;
  const auto [end, error] = std::from_chars(columns.data(), columns.data() + columns.size(), asked);
  if (error == std::errc() && end == columns.data() + columns.size() && asked > 0) width = asked;
  return std::clamp(width, kWidthMin, kWidthMax);
}

bool ChooseColor(ColorWhen when, bool is_terminal, std::string_view no_color,
                 std::string_view term) {
  if (when != ColorWhen::kAuto) return when == ColorWhen::kAlways;
  return is_terminal && no_color.empty() && term != "dumb";
}

size_t OutputWidth() { return WidthOf(STDOUT_FILENO); }
size_t ErrorWidth() { return WidthOf(STDERR_FILENO); }

std::optional<ScreenSize> OutputScreen() {
  const std::string_view term = Variable("TERM");
  if (::isatty(STDOUT_FILENO) != 1 || term.empty() || term == "dumb") return std::nullopt;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return ScreenSize();
  return ScreenSize{.columns = size.ws_col, .rows = size.ws_row};
}

bool WritesUtf8() {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = Variable(name);
    if (!locale.empty()) break;
  }
  for (char& c : locale) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

void SetColor(ColorWhen when) { color_when = when; }
bool ColorsOutput() { return ColorsOf(STDOUT_FILENO); }
bool ColorsError() { return ColorsOf(STDERR_FILENO); }

void SetQuiet(bool quiet) { is_quiet = quiet; }
bool IsQuiet() { return is_quiet; }

}  // namespace eroica
