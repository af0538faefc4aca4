#include "diagnosis/link_matrix/link_ends.h"

#include <algorithm>
#include <cmath>

#include "diagnosis/link_matrix/slow_share.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// A rank that copies more than its peers by so much does so for a reason.
constexpr double kMuchLonger = 1.5;
constexpr size_t kFewestPeers = 3;
// Copies between host and device, by class: of most ranks they are too short for a row of their
// own.
double CopyNsOf(const PatternBatch& batch) {
  if (batch.silent || batch.steps.empty()) return 0;
  auto ns =
      static_cast<double>(batch.folded_critical_ns[static_cast<size_t>(FunctionClass::kMemoryOp)]);
  for (const FunctionPattern& pattern : batch.patterns) {
    if (pattern.function_class == FunctionClass::kMemoryOp)
      ns += static_cast<double>(pattern.critical_ns);
  }
  return ns / static_cast<double>(batch.steps.size());
}

}  // namespace

LinkEnds::LinkEnds(const CrossRankView& view, std::span<const LinkCell> cells,
                   const HotSpotOptions& options)
    : slow_with_third_(view.ranks().size()), slow_inside_(view.ranks().size()) {
  for (const RankView& rank : view.ranks()) {
    copies_.push_back(CopyNsOf(*rank.batch));
    roles_.push_back(rank.role);
  }
  FindSlowWithThird(cells);
  SlowShares<RankIndex> inside;
  for (const LinkCell& cell : cells) {
    if (cell.resource == Resource::kNic || cell.peers_speed <= 0) continue;
    inside.Add(cell.source, cell.destination, cell.bytes, IsSlow(cell, options));
  }
  for (RankIndex rank = 0; rank < slow_inside_.size(); ++rank) {
    const SlowShare* share = inside.Find(rank);
    slow_inside_[rank] =
        share != nullptr && share->out.IsSlow(options.whole) && share->in.IsSlow(options.whole);
  }
}

void LinkEnds::FindSlowWithThird(std::span<const LinkCell> cells) {
  const auto port_of = [cells](RankIndex rank, const LinkCell& but) {
    std::vector<double> speeds;
    for (const LinkCell& cell : cells) {
      const bool judged =
          cell.peers_speed > 0 && cell.channels > 0 && cell.resource == but.resource;
      if (judged && (cell.source == rank || cell.destination == rank))
        speeds.push_back(cell.port_speed());
    }
    return speeds.empty() ? 0 : Median(std::span(speeds));
  };
  for (const LinkCell& cell : cells) {
    if (cell.resource == Resource::kNic || cell.peers_speed > 0 || cell.channels == 0) continue;
    const bool below_source = cell.port_speed() <= kMuchSlower * port_of(cell.source, cell);
    const bool below_destination =
        cell.port_speed() <= kMuchSlower * port_of(cell.destination, cell);
    if (below_source != below_destination)
      slow_with_third_[below_source ? cell.destination : cell.source] = true;
  }
}

double LinkEnds::CopiesOf(RankIndex rank) const {
  std::vector<double> peers;
  for (RankIndex other = 0; other < copies_.size(); ++other) {
    if (other != rank && roles_[other] == roles_[rank] && copies_[other] > 0)
      peers.push_back(std::log(copies_[other]));
  }
  if (peers.size() < kFewestPeers || copies_[rank] <= 0) return 0;
  const MedianAndMad typical = TakeMedianAndMad(std::span(peers));
  const double beyond = std::log(copies_[rank]) - typical.median;
  const double spread = std::max(typical.mad, peers.size() < kFewSpeeds ? kFewSpread : 0.0);
  return beyond >= std::log(kMuchLonger) && beyond >= SpreadsBeyondNoise(peers.size()) * spread
             ? std::exp(beyond)
             : 0;
}

void LinkEnds::Decide(HotSpot& spot) const {
  if (spot.kind != HotSpotKind::kLink) return;
  const std::pair ends(spot.ranks.front(), spot.destination);
  const bool two = std::ranges::all_of(spot.cells, [&ends](const LinkCell* cell) {
    return std::minmax(cell->source, cell->destination) == std::minmax(ends.first, ends.second);
  });
  if (!two) return;
  const auto decide = [&](RankIndex rank, double copies) {
    spot.kind = HotSpotKind::kRank;
    spot.ranks = {rank};
    spot.copies = copies;
  };
  if (spot.resource != Resource::kNic) {
    const bool one_slow = slow_with_third_[ends.first];
    if (one_slow != slow_with_third_[ends.second]) decide(one_slow ? ends.first : ends.second, 0);
    return;
  }
  const double one = CopiesOf(ends.first);
  const double other = CopiesOf(ends.second);
  if ((one > 0) != (other > 0))
    return one > 0 ? decide(ends.first, one) : decide(ends.second, other);
  if (slow_inside_[ends.first] != slow_inside_[ends.second])
    decide(slow_inside_[ends.first] ? ends.first : ends.second, 0);
}

}  // namespace eroica
