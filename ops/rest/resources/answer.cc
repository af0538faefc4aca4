#include "ops/rest/resources/answer.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <utility>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

}  // namespace

std::string TimeOfMs(int64_t ms) { return TimeText(absl::FromUnixMillis(ms)); }
std::string TimeOfNs(int64_t ns) { return TimeText(absl::FromUnixNanos(ns)); }
std::string HexOf(uint64_t id) { return fmt::format("{:016x}", id); }

Json AsOf(int64_t watermark_ms, bool complete) {
  return {{"watermark", watermark_ms > 0 ? Json(TimeOfMs(watermark_ms)) : Json(nullptr)},
          {"complete", complete}};
}

HttpResponse Answer(const Json& json, int status) {
  return JsonResponse(PrintableJson(json.dump(-1, ' ', false, Json::error_handler_t::replace)),
                      status);
}

Page ReadPage(Parameters& parameters) {
  constexpr int64_t kLimitMax = 1'000;
  constexpr size_t kCursorBytesMax = 4'096;
  Page page{.limit = static_cast<size_t>(parameters.Integer("limit", 100, 1, kLimitMax)),
            .after = std::nullopt};
  const std::optional<std::string> cursor = parameters.Text("cursor", kCursorBytesMax);
  if (!cursor) return page;
  const size_t dot = cursor->find('.');
  std::string key;
  if (!cursor->starts_with('c') || dot == std::string::npos ||
      !absl::SimpleAtoi(cursor->substr(1, dot - 1), &page.place)) {
    parameters.Fail("cursor is none of ours: give next_cursor of the page before, as it is");
  } else if (absl::WebSafeBase64Unescape(cursor->substr(dot + 1), &key)) {
    page.after = std::move(key);
  } else {
    page.after = "";  // an item that is gone
  }
  return page;
}

std::string CursorOf(size_t place, std::string_view key) {
  return fmt::format("c{}.{}", place, absl::WebSafeBase64Escape(std::string(key)));
}

}  // namespace eroica
