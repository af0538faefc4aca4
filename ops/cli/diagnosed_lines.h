// What `eroica diagnose --json` prints, line by line, as one document; for tests.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace eroica {

// {"import": ..., "findings": [...], "cannot_tell": ..., "left_open": [...]}.
inline nlohmann::json DiagnosedLines(const std::string& lines) {
  nlohmann::json document = {{"findings", nlohmann::json::array()}};
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    const nlohmann::json object = nlohmann::json::parse(line);
    if (object.contains("id")) {
      document["findings"].push_back(object);
    } else {
      document.update(object);
    }
  }
  return document;
}

}  // namespace eroica
