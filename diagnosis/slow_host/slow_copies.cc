#include "diagnosis/slow_host/slow_copies.h"

#include <algorithm>

#include "diagnosis/mean_step.h"
#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kMostSpeed = 0.5;  // of the usual one: a slot that has lost lanes has lost half of them at least

// Bytes a nanosecond, or the share of the bus that is in use meanwhile; 0 where neither is known.
double SpeedOf(const FunctionPattern& copies) {
  if (copies.bytes > 0 && copies.total_ns > 0) return static_cast<double>(copies.bytes) / static_cast<double>(copies.total_ns);
  return copies.resource == Resource::kPcieTx && copies.resource_samples > 0 ? copies.mu : 0;
}

const FunctionPattern* Find(const FunctionColumn& column, RankIndex rank) {
  const auto at = std::ranges::lower_bound(column.rank, rank);
  return at != column.rank.end() && *at == rank ? column.pattern[static_cast<size_t>(at - column.rank.begin())] : nullptr;
}

// By rank; 0 where it is not known.
std::vector<double> SpeedsOf(const FunctionColumn& column, std::span<const HostRanks> ranks) {
  std::vector<double> speeds;
  for (const HostRanks& rank : ranks) {
    const FunctionPattern* copies = Find(column, rank.ranks.front());
    speeds.push_back(copies != nullptr ? SpeedOf(*copies) : 0);
  }
  return speeds;
}

std::optional<SlowCopies> Compare(const CrossRankView& view, const FunctionColumn& column, RankIndex rank, size_t place,
                                  std::vector<double> speeds) {
  const double own = speeds[place];
  speeds.erase(speeds.begin() + static_cast<std::ptrdiff_t>(place));
  std::erase(speeds, 0.0);
  if (own <= 0 || speeds.size() < 2) return std::nullopt;
  const double least = *std::ranges::min_element(speeds);
  const double usual = Median(std::span(speeds));
  if (own > kMostSpeed * usual) return std::nullopt;
  const double own_ns = PerStep(view.ranks()[rank].step, Find(column, rank)->critical_ns);
  return SlowCopies{.column = &column, .own_ns = own_ns, .speed = own / usual, .least_elsewhere = least / usual};
}

}  // namespace

std::vector<std::optional<SlowCopies>> FindSlowCopies(const CrossRankView& view, std::span<const HostRanks> ranks) {
  std::vector<std::optional<SlowCopies>> found(ranks.size());
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->function_class != FunctionClass::kMemoryOp) continue;
    const std::vector<double> speeds = SpeedsOf(column, ranks);
    for (size_t r = 0; r < ranks.size(); ++r) {
      const std::optional<SlowCopies> copies = Compare(view, column, ranks[r].ranks.front(), r, speeds);
      if (copies && (!found[r] || copies->excess_ns() > found[r]->excess_ns())) found[r] = copies;
    }
  }
  return found;
}

}  // namespace eroica
