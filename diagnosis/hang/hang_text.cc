#include "diagnosis/hang/hang_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kStretchesMax = 6;

}  // namespace

std::string RanksText(const std::vector<RankId>& ranks) {
  if (ranks.empty()) return "no rank";
  std::vector<std::pair<uint32_t, uint32_t>> stretches;
  for (const RankId rank : ranks) {
    if (!stretches.empty() && stretches.back().second + 1 == rank.value) {
      ++stretches.back().second;
    } else {
      stretches.push_back({rank.value, rank.value});
    }
  }
  std::vector<std::string> words;
  size_t named = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (i == kStretchesMax && stretches.size() > kStretchesMax + 1) break;
    const auto [first, last] = stretches[i];
    named += last - first + 1;
    if (last > first + 1) {
      words.push_back(fmt::format("{} to {}", first, last));
    } else {
      for (uint32_t rank = first; rank <= last; ++rank) words.push_back(fmt::format("{}", rank));
    }
  }
  if (named < ranks.size()) words.push_back(fmt::format("{} more", ranks.size() - named));
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string CommunicatorText(const Communicator& communicator) {
  std::string name = communicator.name;
  if (name.empty()) name = fmt::format("{:016x}", communicator.id.value);
  return communicator.description.empty() ? name
                                          : fmt::format("{} ({})", name, communicator.description);
}

std::string OperationText(const HungOperation& operation) {
  if (operation.point_to_point()) {
    return fmt::format("the send from rank {} to rank {} over {}", operation.source,
                       operation.destination, CommunicatorText(*operation.communicator));
  }
  return fmt::format("{} number {} of group {}", ToString(operation.operation), operation.sequence,
                     CommunicatorText(*operation.communicator));
}

}  // namespace eroica
