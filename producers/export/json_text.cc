#include "producers/export/json_text.h"

#include <fmt/format.h>

#include <iterator>

namespace eroica {

void AppendJsonString(std::string_view text, std::string* json) {
  json->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json->push_back('\\');
      json->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(*json), "\\u{:04x}",
                     static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      json->push_back(c);
    }
  }
  json->push_back('"');
}

void AppendMicroseconds(int64_t nanoseconds, std::string* json) {
  fmt::format_to(std::back_inserter(*json), "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

}  // namespace eroica
