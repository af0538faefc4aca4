// What stands below a command's options in its help, taken apart: sentences, which are wrapped as
// paragraphs, and lines that begin with a blank, which are examples. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

namespace eroica {

struct FooterPart {
  bool is_paragraph = false;  // else a line of its own, perhaps empty
  std::string text;
};

std::vector<FooterPart> ParseFooter(const std::string& footer);

}  // namespace eroica
