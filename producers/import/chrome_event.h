// One event of a Chrome trace, as views into its bytes. Field names: the Trace Event Format and
// Kineto's output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eroica {

// A decimal number of microseconds as exact nanoseconds (the fourth decimal rounds half up):
// "4401701946331.626" is more than a double holds well. False where it is no JSON number, or beyond
// +-2^62 ns.
bool ParseMicroseconds(std::string_view text, int64_t* nanoseconds);
// Likewise of a decimal number of seconds.
bool ParseSeconds(std::string_view text, int64_t* nanoseconds);

// The text of a JSON string without its quotes, escapes resolved and bytes that are no UTF-8
// replaced by U+FFFD.
std::string DecodeJsonString(std::string_view raw);

struct ChromeEvent {
  std::string_view name;      // raw: without the quotes, escapes not resolved
  std::string_view category;  // raw
  std::string_view pid;       // raw token, string or number
  std::string_view tid;
  std::string_view args;  // the raw object, empty where there is none
  int64_t start_ns = 0;   // ts, relative to the trace's base time
  int64_t duration_ns = 0;
  char phase = 0;
  bool has_start = false;
  bool has_duration = false;
  bool bad_time = false;  // ts or dur is no number, or beyond +-2^62 ns
};

// False where the bytes are no JSON object with string keys. What lies inside of args is delimited,
// not checked. The text must lie within a buffer that goes on for kJsonPadding bytes.
bool ParseChromeEvent(std::string_view text, ChromeEvent* event);

}  // namespace eroica
