#include "diagnosis/step_accounting/airport_share.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace eroica {

void ShareAirport(std::span<double> lateness) {
  std::vector<size_t> order(lateness.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lateness[a] < lateness[b]; });
  double share = 0;
  double before = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    double& own = lateness[order[i]];
    share += (own - before) / static_cast<double>(order.size() - i);
    before = own;
    own = share;
  }
}

}  // namespace eroica
