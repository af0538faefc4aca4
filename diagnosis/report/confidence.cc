#include "diagnosis/report/confidence.h"

#include <algorithm>
#include <cmath>

namespace eroica {

double ToldShare(const Finding& finding) {
  const double all = static_cast<double>(finding.events) + static_cast<double>(finding.events_lost);
  const double kept = all > 0 ? static_cast<double>(finding.events) / all : 1;
  const double reporting =
      finding.world_size > 0 ? static_cast<double>(finding.ranks_seen) / finding.world_size : 1;
  return kept * std::min(1.0, reporting);
}

double ConfidenceAfter(double first, uint64_t windows, double told) {
  const double doubt = (1 - std::clamp(first, 0.0, 1.0)) * 3 /
                       (static_cast<double>(std::max<uint64_t>(1, windows)) + 2);
  return std::round(100 * told * (1 - doubt)) / 100;
}

}  // namespace eroica
