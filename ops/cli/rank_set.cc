#include "ops/cli/rank_set.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace eroica {
namespace {

std::optional<uint32_t> ParseRank(std::string_view text) {
  uint32_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return rank;
}

}  // namespace

absl::StatusOr<RankSet> RankSet::Parse(std::string_view text) {
  RankSet set;
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
  for (const std::string& part : parts) {
    const size_t dash = part.find('-');
    const std::optional<uint32_t> first = ParseRank(std::string_view(part).substr(0, dash));
    const std::optional<uint32_t> last =
        dash == std::string::npos ? first : ParseRank(std::string_view(part).substr(dash + 1));
    if (!first || !last || *last < *first)
      return absl::InvalidArgumentError(
          fmt::format("'{}' are no ranks: give them such as 0-3,7", text));
    set.ranges_.emplace_back(*first, *last);
  }
  return set;
}

bool RankSet::Contains(uint32_t rank) const {
  return ranges_.empty() || std::ranges::any_of(ranges_, [rank](const auto& range) {
           return rank >= range.first && rank <= range.second;
         });
}

}  // namespace eroica
