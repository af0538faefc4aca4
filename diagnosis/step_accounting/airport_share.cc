#include "diagnosis/step_accounting/airport_share.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace eroica {

void ShareAirport(std::span<double> lateness) {
  struct Late {
    double ns;
    size_t at;
  };
  std::vector<Late> order;
  order.reserve(lateness.size());
  for (size_t i = 0; i < lateness.size(); ++i) order.push_back({lateness[i], i});
  std::sort(order.begin(), order.end(), [](const Late& a, const Late& b) { return a.ns < b.ns; });  // equally late, equal share: in any order
  double share = 0;
  double before = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    share += (order[i].ns - before) / static_cast<double>(order.size() - i);
    before = order[i].ns;
    lateness[order[i].at] = share;
  }
}

}  // namespace eroica
