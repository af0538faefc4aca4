#include "diagnosis/report/confidence.h"

#include <algorithm>
#include <cmath>

#include "diagnosis/deciding_numbers.h"

namespace eroica {
namespace {

constexpr double kMostCertain = 0.99;

}  // namespace

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
  const double confidence = 1 - kWrongOfDoubt * (1 - told * (1 - doubt));
  return std::min(kMostCertain, std::round(1000 * confidence) / 1000);
}

double FirstOf(double confidence, double told) {
  return told > 0 ? std::clamp((1 - (1 - confidence) / kWrongOfDoubt) / told, 0.0, 1.0) : 0;
}

}  // namespace eroica
