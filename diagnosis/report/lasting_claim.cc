#include "diagnosis/report/lasting_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "diagnosis/report/finding_measures.h"

namespace eroica {

std::optional<BusyTime> LastingInSteps(const CrossRankView& view, const BusyTime& lasting,
                                       const std::vector<Finding>& claims) {
  const auto rank = static_cast<int32_t>(view.ranks()[lasting.rank].rank.value);
  const bool told = std::ranges::any_of(claims, [rank](const Finding& claim) {
    return std::ranges::find(claim.culprits, rank, &Culprit::rank) != claim.culprits.end();
  });
  const auto now = std::ranges::find(view.busy_times(), lasting.rank, &BusyTime::rank);
  if (told || now == view.busy_times().end() || now->excess_ns < lasting.excess_ns / 2)
    return std::nullopt;
  BusyTime busy = lasting;
  busy.steps = lasting.steps * now->steps;
  busy.slow_steps = lasting.slow_steps * now->steps;
  return busy;
}

void TellLasting(const BusyTime& lasting, Finding& finding) {
  finding.evidence.push_back({std::string(kSlowWindows), "count",
                              static_cast<double>(lasting.slow_steps), 0, 0, lasting.steps});
  finding.evidence.push_back({"p_value", "probability", lasting.p_value, 0, 0, lasting.peers});
  finding.explanation +=
      fmt::format(" No window alone shows it: it adds up over {}, of which {} show it.",
                  lasting.steps, lasting.slow_steps);
}

}  // namespace eroica
