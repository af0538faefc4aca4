#include "diagnosis/measurements/rank_times.h"

#include <iterator>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

std::vector<uint32_t> NumbersOf(std::span<const RankView> ranks) {
  std::vector<uint32_t> numbers;
  numbers.reserve(ranks.size());
  std::ranges::transform(ranks, std::back_inserter(numbers),
                         [](const RankView& rank) { return rank.rank.value; });
  return numbers;
}

}  // namespace eroica
