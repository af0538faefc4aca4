#include "diagnosis/slow_host/slow_copies.h"

#include <algorithm>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kMostSpeed = 0.75;  // of the usual one, where
// times as long takes a copy: of short ones a sample of the bus sees a part, never of longer ones
constexpr double kLeastLonger = 1.5;

// Bytes a nanosecond, or the share of the bus that is in use meanwhile; 0 where neither is known.
double SpeedOf(const FunctionPattern& copies) {
  if (copies.bytes > 0 && copies.total_ns > 0)
    return static_cast<double>(copies.bytes) / static_cast<double>(copies.total_ns);
  return copies.resource == Resource::kPcieTx && copies.resource_samples > 0 ? copies.mu : 0;
}

// What is known of one rank's copies; all 0 where it has none, or their speed is not known.
struct Copies {
  double speed = 0;
  double call_ns = 0;
};

const FunctionPattern* Find(const FunctionColumn& column, RankIndex rank) {
  const auto at = std::ranges::lower_bound(column.rank, rank);
  return at != column.rank.end() && *at == rank
             ? column.pattern[static_cast<size_t>(at - column.rank.begin())]
             : nullptr;
}

std::vector<Copies> CopiesOf(const FunctionColumn& column, std::span<const HostRanks> ranks) {
  std::vector<Copies> copies;
  for (const HostRanks& rank : ranks) {
    const FunctionPattern* row = Find(column, rank.ranks.front());
    const double speed = row != nullptr ? SpeedOf(*row) : 0;
    copies.push_back(speed > 0 ? Copies{.speed = speed, .call_ns = row->duration_mean_ns}
                               : Copies{});
  }
  return copies;
}

std::vector<double> ValuesElsewhere(std::span<const Copies> copies, size_t place,
                                    double Copies::*value) {
  std::vector<double> values;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (i != place && copies[i].speed > 0) values.push_back(copies[i].*value);
  }
  return values;
}

std::optional<SlowCopies> Compare(const CrossRankView& view, const FunctionColumn& column,
                                  RankIndex rank, std::span<const Copies> copies, size_t place) {
  const Copies& own = copies[place];
  std::vector<double> speeds = ValuesElsewhere(copies, place, &Copies::speed);
  std::vector<double> calls = ValuesElsewhere(copies, place, &Copies::call_ns);
  if (own.speed <= 0 || speeds.size() < 2) return std::nullopt;
  const double least = *std::ranges::min_element(speeds);
  const double usual = Median(std::span(speeds));
  if (own.speed > kMostSpeed * usual || own.speed >= least ||
      own.call_ns < kLeastLonger * Median(std::span(calls)))
    return std::nullopt;
  const double own_ns = PerStep(view.ranks()[rank].step, Find(column, rank)->critical_ns);
  return SlowCopies{.column = &column,
                    .own_ns = own_ns,
                    .speed = own.speed / usual,
                    .least_elsewhere = least / usual};
}

}  // namespace

std::vector<std::optional<SlowCopies>> FindSlowCopies(const CrossRankView& view,
                                                      std::span<const HostRanks> ranks) {
  std::vector<std::optional<SlowCopies>> found(ranks.size());
  for (const FunctionColumn& column : view.functions()) {
    if (column.sample->function_class != FunctionClass::kMemoryOp) continue;
    const std::vector<Copies> of_ranks = CopiesOf(column, ranks);
    for (size_t r = 0; r < ranks.size(); ++r) {
      const std::optional<SlowCopies> copies =
          Compare(view, column, ranks[r].ranks.front(), of_ranks, r);
      if (copies && (!found[r] || copies->excess_ns() > found[r]->excess_ns())) found[r] = copies;
    }
  }
  return found;
}

}  // namespace eroica
