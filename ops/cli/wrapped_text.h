// Text in the width of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// Breaks lines between words so that they end before column `width`; every line but the first is
// indented. Line ends in the text stay (of names in it: Printable before), and lines that hold runs
// of blanks (a table) are never broken. Other control characters are written out (Printable).
std::string Wrapped(std::string_view text, size_t width, size_t indent);

// Each line of the text by itself; each ends with a line end.
std::string WrappedLines(std::string_view text, size_t width, size_t indent);

// Rows of equally many cells as lines, the first `left` columns left, the others right, two blanks
// between them.
std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows, size_t left = 1);

// The text where it has room, else its begin and "..."; columns at most. Of printable UTF-8.
std::string CutTo(std::string_view text, size_t columns);

}  // namespace eroica
