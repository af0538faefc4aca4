#include "ops/cli/partly_recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diagnosis/hang/hang_text.h"
#include "diagnosis/monitoring_gap/telemetry_gaps.h"

namespace eroica {
namespace {

// It waits for requests of the others, or nobody marks its steps.
void AddRanksWithoutSteps(const JobCoverage& coverage, const std::vector<RankId>& ranks,
                          CaptureGaps* gaps) {
  if (ranks.empty()) return;
  const bool one = ranks.size() == 1;
  gaps->undecided = true;
  gaps->sentences.push_back(
      fmt::format("There is no training step of {} of {}, and up to {} of the others: {} may serve "
                  "them (as a parameter server does), and nobody can tell whether they wait for "
                  "{}. Where {}, a script says eroica.step().",
                  RanksText(ranks), coverage.world_size, coverage.steps, one ? "it" : "they",
                  one ? "it" : "them", one ? "it trains" : "they train"));
}

}  // namespace

void AddPartlyRecorded(const JobCoverage& coverage, const char* action, CaptureGaps* gaps) {
  std::vector<RankId> ranks;
  std::vector<RankId> without_steps;
  uint64_t fewest = coverage.steps;
  for (const PartlyRecorded& rank : coverage.partly) {
    if (rank.steps == 0) {
      without_steps.push_back(RankId{rank.rank});
      continue;
    }
    const uint64_t missing = coverage.steps - rank.steps;
    const double share = static_cast<double>(missing) / static_cast<double>(coverage.steps);
    if (share < TelemetryGapOptions{}.min_share) continue;
    if (missing <= coverage.most_steps) continue;
    ranks.push_back(RankId{rank.rank});
    fewest = std::min(fewest, rank.steps);
  }
  AddRanksWithoutSteps(coverage, without_steps, gaps);
  if (ranks.empty()) return;
  gaps->undecided = true;
  gaps->sentences.push_back(
      fmt::format("Of {} of {} {} {} of {} steps were recorded: nobody can tell what {} did in the "
                  "others. {}",
                  RanksText(ranks), coverage.world_size, ranks.size() == 1 ? "only" : "as few as",
                  fewest, coverage.steps, ranks.size() == 1 ? "it" : "they", action));
}

}  // namespace eroica
