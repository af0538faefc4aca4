// Where text goes: how wide it may be, and whether it may be coloured. What was chosen with --color
// and -q holds for the process: it is set once, before a command runs, and read from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

inline constexpr size_t kWidthMin = 60;
inline constexpr size_t kWidthMax = 200;
inline constexpr size_t kWidthElsewhere = 100;  // where there is no terminal

enum class ColorWhen : uint8_t { kAuto, kAlways, kNever };

// columns: the variable COLUMNS, empty where it is not set; terminal: its columns where there is
// one. Within the bounds above.
size_t ChooseWidth(std::string_view columns, std::optional<size_t> terminal);
// no_color and term: the variables NO_COLOR and TERM, empty where they are not set.
bool ChooseColor(ColorWhen when, bool is_terminal, std::string_view no_color,
                 std::string_view term);

// Of standard output and standard error, in columns.
size_t OutputWidth();
size_t ErrorWidth();

// How large the terminal is that standard output is; nothing where it is none, or one that cannot
// be written over (TERM=dumb, or not set).
struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};
std::optional<ScreenSize> OutputScreen();
// Whether the locale's characters are UTF-8.
bool WritesUtf8();

void SetColor(ColorWhen when);
bool ColorsOutput();
bool ColorsError();

// -q: results and errors only, no progress and no remarks.
void SetQuiet(bool quiet);
bool IsQuiet();

}  // namespace eroica
