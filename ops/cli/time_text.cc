#include "ops/cli/time_text.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>

#include "schemas/finding.h"

namespace eroica {
namespace {

constexpr int64_t kSecondMs = 1'000;
constexpr int64_t kDayMs = 24 * 3'600 * kSecondMs;

std::optional<int64_t> UnitMs(std::string_view unit) {
  if (unit == "s") return kSecondMs;
  if (unit == "m") return 60 * kSecondMs;
  if (unit == "h") return 3'600 * kSecondMs;
  if (unit == "d") return kDayMs;
  return std::nullopt;
}

// A plain number, or one with a unit.
std::optional<int64_t> ParseNumber(std::string_view text, int64_t now_ms) {
  constexpr int64_t kUnitsMax = 1'000'000;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.empty()) return number;
  const std::optional<int64_t> unit_ms = UnitMs(unit);
  if (!unit_ms || number > kUnitsMax) return std::nullopt;
  return now_ms - number * *unit_ms;
}

}  // namespace

absl::StatusOr<int64_t> ParseTimeMs(std::string_view text, int64_t now_ms) {
  for (const char* format :
       {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M:%E*S", "%Y-%m-%d%ET%H:%M",
        "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    absl::Time time;
    std::string error;
    const absl::string_view value(text.data(), text.size());
    if (absl::ParseTime(format, value, &time, &error)) return absl::ToUnixMillis(time);
  }
  if (const std::optional<int64_t> time_ms = ParseNumber(text, now_ms)) return *time_ms;
  return absl::InvalidArgumentError(
      fmt::format("'{}' is no time: give one such as 2026-11-24T10:00:00Z, '2026-11-24 10:00' "
                  "(UTC), 2h or 3d (so long ago), or milliseconds since 1970",
                  text));
}

std::string TimeText(int64_t time_ms) {
  return absl::FormatTime("%E4Y-%m-%d%ET%H:%M:%E3SZ", absl::FromUnixMillis(time_ms),
                          absl::UTCTimeZone());
}

std::string LocalTimeText(int64_t time_ns) {
  if (!IsTimeOfDay(time_ns)) return "";
  // By the C library, which knows all that TZ may hold.
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm local{};
  ::tzset();
  ::localtime_r(&seconds, &local);
  char text[40];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &local);
  return std::string(text).insert(std::strlen(text) - 2, ":");
}

std::string SpanText(int64_t span_ms) {
  const int64_t seconds = span_ms / kSecondMs;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3'600 % 24, seconds / 60 % 60, seconds % 60);
  return span_ms < kDayMs ? clock : fmt::format("{} d {}", span_ms / kDayMs, clock);
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace eroica
