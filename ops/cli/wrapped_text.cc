#include "ops/cli/wrapped_text.h"

#include <algorithm>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

// Of UTF-8: continuation bytes take no column of their own.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Appends the words of one line, breaking where the next word would not fit.
void AppendWords(std::string_view line, size_t width, size_t indent, std::string* out) {
  size_t column = indent;
  bool first = true;
  while (!line.empty()) {
    const size_t blank = line.find(' ');
    const std::string_view word = line.substr(0, blank);
    const size_t columns = Columns(word);
    if (!first && column + 1 + columns > width) {
      *out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      *out += ' ';
      ++column;
    }
    *out += word;
    column += columns;
    first = false;
    line = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  }
}

}  // namespace

std::string Wrapped(std::string_view text, size_t width, size_t indent) {
  std::string out;
  for (bool first = true;; first = false) {
    const size_t end = text.find('\n');
    const std::string line = Printable(text.substr(0, end));
    if (!first) out += '\n' + std::string(indent, ' ');
    if (line.find("  ") != std::string::npos) {
      out += line;
    } else {
      AppendWords(line, width, indent, &out);
    }
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string WrappedLines(std::string_view text, size_t width, size_t indent) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += Wrapped(text.substr(0, end), width, indent) + "\n";
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::string AlignedColumns(const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    if (!text.empty()) text += '\n';
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - Columns(row[i]), ' ');
      const bool ends_line = i + 1 == row.size();
      if (i > 0) text += "  ";
      text += i >= left ? blanks + row[i] : row[i] + (ends_line ? "" : blanks);
    }
  }
  return text;
}

std::string CutTo(std::string_view text, size_t columns) {
  constexpr std::string_view kCut = "...";
  if (Columns(text) <= columns) return std::string(text);
  const size_t kept = columns > kCut.size() ? columns - kCut.size() : 0;
  size_t end = 0;
  for (size_t column = 0; end < text.size(); ++end) {
    const bool begins_one = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins_one && column++ == kept) break;
  }
  return std::string(text.substr(0, end)) + std::string(kCut.substr(0, columns));
}

}  // namespace eroica
