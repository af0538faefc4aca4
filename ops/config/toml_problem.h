// What is wrong with a text that is no TOML.
#pragma once

#include <string_view>

namespace eroica {

// Of a message of toml++, less what it saw in place of what it expected: that may be a part of a
// secret.
inline std::string_view TomlProblem(std::string_view description) {
  return description.substr(0, description.find(", saw "));
}

}  // namespace eroica
