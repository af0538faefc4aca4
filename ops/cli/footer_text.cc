#include "ops/cli/footer_text.h"

#include <sstream>

namespace eroica {

std::vector<FooterPart> ParseFooter(const std::string& footer) {
  std::vector<FooterPart> parts;
  std::istringstream lines(footer);
  bool goes_on = false;  // the paragraph that came last
  for (std::string line; std::getline(lines, line);) {
    const bool is_text = !line.empty() && line.front() != ' ';
    if (is_text && goes_on) {
      parts.back().text += " " + line;
    } else {
      parts.push_back({.is_paragraph = is_text, .text = line});
    }
    goes_on = is_text;
  }
  return parts;
}

}  // namespace eroica
