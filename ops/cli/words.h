// For tests: what the program printed as one line, however it was wrapped.
#pragma once

#include <sstream>
#include <string>

namespace eroica {

inline std::string Words(const std::string& text) {
  std::istringstream in(text);
  std::string words;
  for (std::string word; in >> word;) words += word + " ";
  return words;
}

}  // namespace eroica
