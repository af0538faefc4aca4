#include "diagnosis/step_accounting/airport_share.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace eroica {
namespace {

struct Late {
  uint64_t bits = 0;  // of a double that is not negative: they are ordered as it is
  uint32_t at = 0;
};

}  // namespace

void ShareAirport(std::span<double> lateness) {
  std::vector<Late> order(lateness.size());
  for (size_t i = 0; i < lateness.size(); ++i)
    order[i] = {std::bit_cast<uint64_t>(lateness[i] + 0.0), static_cast<uint32_t>(i)};
  std::ranges::sort(order, {}, &Late::bits);  // equally late, equal share: in any order
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
