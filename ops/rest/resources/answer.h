// What all answers from the streams share: times, the as_of of the watermark, pages. Pure
// functions, any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rest/parameters.h"
#include "ops/rest/response.h"

namespace eroica {

using Json = nlohmann::ordered_json;

std::string TimeOfMs(int64_t ms);  // RFC 3339, UTC
std::string TimeOfNs(int64_t ns);
std::string HexOf(uint64_t id);

// watermark_ms: event time; 0: nothing has been diagnosed yet.
Json AsOf(int64_t watermark_ms, bool complete);

// Valid UTF-8 without control characters, whatever names are in it.
HttpResponse Answer(const Json& json, int status = 200);

// A stretch of a list: what comes after an item, at most `limit`.
struct Page {
  size_t limit = 100;
  // The last item of the page before: its key, and its place. Where the list has changed, the page
  // goes on behind the item, or at its place if it is gone.
  std::optional<std::string> after;
  size_t place = 0;
};
// Reads limit and cursor.
Page ReadPage(Parameters& parameters);
// Opaque to callers.
std::string CursorOf(size_t place, std::string_view key);

struct PageOfItems {
  Json items = Json::array();
  Json next_cursor = nullptr;  // null at the end
};

// keys: of all items of the list, each once; to_item makes the JSON of the one at a place.
template <typename ToItem>
PageOfItems TakePage(const std::vector<std::string>& keys, const Page& page, ToItem to_item) {
  size_t place = 0;
  if (page.after) {
    const auto last = std::ranges::find(keys, *page.after);
    place = last == keys.end() ? std::min(page.place, keys.size())
                               : static_cast<size_t>(last - keys.begin()) + 1;
  }
  PageOfItems taken;
  const size_t end = std::min(keys.size(), place + page.limit);
  for (; place < end; ++place) taken.items.push_back(to_item(place));
  if (end < keys.size()) taken.next_cursor = CursorOf(end - 1, keys[end - 1]);
  return taken;
}

}  // namespace eroica
