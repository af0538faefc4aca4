// Times as people type and read them: UTC, to the millisecond, but where it says local.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace eroica {

// "2026-11-24T10:00:00Z", "2026-11-24 10:00", "2026-11-24" (UTC where no zone is named), "90s",
// "30m", "2h" or "3d" (so long before now_ms), or milliseconds since 1970. kInvalidArgument names
// what is understood.
absl::StatusOr<int64_t> ParseTimeMs(std::string_view text, int64_t now_ms);

// "2026-11-24T10:00:00.000Z".
std::string TimeText(int64_t time_ms);
// "2026-11-24 11:00:00 +01:00", of this machine's time zone. Empty for what is no time of day
// (schemas/finding.h).
std::string LocalTimeText(int64_t time_ns);
// "1 d 02:03:04".
std::string SpanText(int64_t span_ms);

int64_t NowMs();

}  // namespace eroica
