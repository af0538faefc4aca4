// Text in the width of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// Breaks lines between words so that they end before column `width`; every line but the first is
// indented. Line ends in the text stay, and lines that hold runs of blanks (a table) are never
// broken. Control characters, which a name from a trace may hold, become '?'.
std::string Wrapped(std::string_view text, size_t width, size_t indent);

// The same of one word or line: no name that came from elsewhere moves the cursor of a terminal.
std::string WithoutControls(std::string_view text);

// Rows of equally many cells as lines, the first column left, the others right, two blanks between
// them.
std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows);

}  // namespace eroica
