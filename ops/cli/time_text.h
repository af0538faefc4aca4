// Moments as people write them on a command line and read them in a list: UTC, RFC 3339.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace eroica {

// "2026-11-25T04:08:02.123Z".
std::string TimeText(int64_t unix_ms);

// A moment ("2026-11-25T04:08:02Z", with any offset from UTC), or how long ago ("90m", "36h").
// kInvalidArgument says what may be written.
absl::StatusOr<int64_t> ParseTime(const std::string& text, int64_t now_unix_ms);

}  // namespace eroica
