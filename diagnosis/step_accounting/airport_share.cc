#include "diagnosis/step_accounting/airport_share.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace eroica {
namespace {

struct Late {
  uint64_t bits = 0;  // of a double that is not negative: they are ordered as it is
  uint32_t at = 0;
};

// Digit by digit from the lowest, which keeps the order of those that a digit does not tell apart. (Knuth, The Art of Computer Programming 3, 5.2.5)
void SortMany(std::vector<Late>& order) {
  constexpr int kDigitBits = 11;
  constexpr int kDigits = (64 + kDigitBits - 1) / kDigitBits;
  constexpr size_t kValues = size_t{1} << kDigitBits;
  const auto digit_of = [](const Late& late, int digit) { return static_cast<size_t>(late.bits >> (digit * kDigitBits)) % kValues; };
  std::vector<std::array<uint32_t, kValues>> counts(kDigits);
  for (const Late& late : order) {
    for (int digit = 0; digit < kDigits; ++digit) ++counts[static_cast<size_t>(digit)][digit_of(late, digit)];
  }
  std::vector<Late> sorted(order.size());
  for (int digit = 0; digit < kDigits; ++digit) {
    std::array<uint32_t, kValues>& next = counts[static_cast<size_t>(digit)];
    if (next[digit_of(order.front(), digit)] == order.size()) continue;  // all alike: whole numbers of nanoseconds leave the lowest digits empty
    uint32_t before = 0;
    for (uint32_t& count : next) before += std::exchange(count, before);
    for (const Late& late : order) sorted[next[digit_of(late, digit)]++] = late;
    order.swap(sorted);
  }
}

}  // namespace

void ShareAirport(std::span<double> lateness) {
  constexpr size_t kMany = 1'024;
  std::vector<Late> order(lateness.size());
  for (size_t i = 0; i < lateness.size(); ++i) order[i] = {std::bit_cast<uint64_t>(lateness[i] + 0.0), static_cast<uint32_t>(i)};
  if (order.size() >= kMany) {
    SortMany(order);
  } else {
    std::ranges::sort(order, {}, &Late::bits);  // equally late, equal share: in any order
  }
  double share = 0;
  double before = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const double ns = std::bit_cast<double>(order[i].bits);
    share += (ns - before) / static_cast<double>(order.size() - i);
    before = ns;
    lateness[order[i].at] = share;
  }
}

}  // namespace eroica
