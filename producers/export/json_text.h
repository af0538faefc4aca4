// JSON as it is written event by event: strings with their escapes, times in microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eroica {

// The text in quotes. Control characters, quotes and backslashes are escaped; everything else
// passes, UTF-8 or not.
void AppendJsonString(std::string_view text, std::string* json);
// Nanoseconds, not negative, as microseconds with three decimals: 1234567 -> 1234.567.
void AppendMicroseconds(int64_t nanoseconds, std::string* json);

}  // namespace eroica
