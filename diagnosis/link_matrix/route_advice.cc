#include "diagnosis/link_matrix/route_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kListedMax = 4;

// "a, b and c", or the first few "and 7 more".
std::string Listed(const std::vector<std::string>& names) {
  if (names.size() == 1) return names.front();
  if (names.size() > kListedMax) {
    const std::vector<std::string> first(names.begin(), names.begin() + kListedMax);
    return fmt::format("{} and {} more", fmt::join(first, ", "), names.size() - kListedMax);
  }
  const std::vector<std::string> all_but_last(names.begin(), names.end() - 1);
  return fmt::format("{} and {}", fmt::join(all_but_last, ", "), names.back());
}

class Advice {
 public:
  Advice(const CrossRankView& view, const HotSpot& spot, std::span<const LinkCell> cells,
         const HotSpotOptions& options)
      : view_(view), spot_(spot), cells_(cells), options_(options) {}

  std::string Text() const {
    const std::vector<std::string> pairs = Pairs();
    std::string text = fmt::format("Meanwhile route {} around the pair{} {} (rank-rank)", Rings(),
                                   pairs.size() == 1 ? "" : "s", Listed(pairs));
    const std::vector<std::string> ways = WaysAround();
    if (!ways.empty()) {
      text += fmt::format(": the port{} of rank{} {} on the same host carr{} data at full speed",
                          ways.size() == 1 ? "" : "s", ways.size() == 1 ? "" : "s", Listed(ways),
                          ways.size() == 1 ? "ies" : "y");
    } else if (spot_.kind == HotSpotKind::kPath || spot_.kind == HotSpotKind::kHosts) {
      text += ": order the ranks so that each ring enters and leaves these hosts once";
    }
    return text + ".";
  }

 private:
  uint32_t Rank(RankIndex index) const { return view_.ranks()[index].rank.value; }
  const std::string& Host(RankIndex index) const { return view_.ranks()[index].batch->host; }

  // Each once, whichever way data goes; the worst first.
  std::vector<std::string> Pairs() const {
    std::vector<std::string> pairs;
    std::set<std::pair<RankIndex, RankIndex>> known;
    for (const LinkCell* cell : spot_.cells) {
      if (known.insert(std::minmax(cell->source, cell->destination)).second)
        pairs.push_back(fmt::format("{}-{}", Rank(cell->source), Rank(cell->destination)));
    }
    return pairs;
  }

  // Of the communicators that use them, where producers know those.
  std::string Rings() const {
    std::vector<std::string> names;
    std::set<CommId> known;
    for (const LinkCell* cell : spot_.cells) {
      if (cell->communicator == CommId{} || !known.insert(cell->communicator).second) continue;
      names.push_back(NameOf(cell->communicator));
    }
    return names.empty() ? "rings" : fmt::format("the rings of {}", Listed(names));
  }

  std::string NameOf(CommId communicator) const {
    for (const CollectiveSummary& summary : view_.summaries()) {
      if (summary.communicator != communicator) continue;
      if (!summary.communicator_description.empty()) return summary.communicator_description;
      if (!summary.communicator_name.empty()) return summary.communicator_name;
    }
    return fmt::format("communicator {:016x}", communicator.value);
  }

  // Ranks of the slow port's own host whose data to and from other hosts is well.
  std::vector<std::string> WaysAround() const {
    std::vector<std::string> ways;
    if (spot_.resource != Resource::kNic || spot_.ranks.empty() ||
        spot_.kind == HotSpotKind::kHosts || spot_.kind == HotSpotKind::kPath)
      return ways;
    const std::string& host = Host(spot_.ranks.front());
    if (host.empty()) return ways;
    std::set<uint32_t> well, slow;
    for (const RankIndex rank : spot_.ranks) slow.insert(Rank(rank));
    for (const LinkCell* cell : spot_.cells) {
      slow.insert(Rank(cell->source));
      slow.insert(Rank(cell->destination));
    }
    for (const LinkCell& cell : cells_) {
      if (cell.resource != Resource::kNic || cell.peers_speed == 0) continue;
      if (Host(cell.source) == Host(cell.destination)) continue;
      for (const RankIndex end : {cell.source, cell.destination}) {
        if (Host(end) != host) continue;
        (IsSlow(cell, options_) ? slow : well).insert(Rank(end));
      }
    }
    for (const uint32_t rank : well) {
      if (!slow.contains(rank)) ways.push_back(std::to_string(rank));
    }
    return ways;
  }

  const CrossRankView& view_;
  const HotSpot& spot_;
  const std::span<const LinkCell> cells_;
  const HotSpotOptions& options_;
};

}  // namespace

std::string RouteAdvice(const CrossRankView& view, const HotSpot& spot,
                        std::span<const LinkCell> cells, const HotSpotOptions& options) {
  return Advice(view, spot, cells, options).Text();
}

}  // namespace eroica
