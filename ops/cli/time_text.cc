#include "ops/cli/time_text.h"

#include <absl/time/time.h>
#include <fmt/format.h>

namespace eroica {

std::string TimeText(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(unix_ms),
                          absl::UTCTimeZone());
}

absl::StatusOr<int64_t> ParseTime(const std::string& text, int64_t now_unix_ms) {
  absl::Duration ago;
  if (absl::ParseDuration(text, &ago) && ago >= absl::ZeroDuration())
    return absl::ToUnixMillis(absl::FromUnixMillis(now_unix_ms) - ago);
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return absl::ToUnixMillis(time);
  return absl::InvalidArgumentError(fmt::format(
      "'{}' is no time: write 2026-11-25T04:08:02Z, or how long ago, as 90m or 36h", text));
}

}  // namespace eroica
