#include "tests/evaluation/baselines/stage_frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "diagnosis/report/duration_text.h"
#include "tests/evaluation/baselines/claim.h"
#include "tests/evaluation/baselines/step_frontier.h"

namespace eroica {
namespace {

constexpr double kMinLead = 0.05;   // of the increment
constexpr double kMinSteps = 0.75;  // of the steps
constexpr size_t kSuspects = 2;
constexpr std::array<std::string_view, kStepStageCount> kStageNames = {"data", "forward",
                                                                       "backward", "optimizer"};

struct Suspect {
  size_t stage = 0;
  int64_t exposed_ns = 0;
  std::map<RankIndex, uint32_t> decided_steps;  // by leader
  RankIndex leader = 0;
  uint32_t led = 0;
};

bool IsDecided(const FrontierAdvance& advance) {
  const double margin = kMinLead * static_cast<double>(advance.increment_ns);
  return static_cast<double>(advance.lead_ns) > margin &&
         static_cast<double>(advance.own_ns - advance.longest_other_ns) > margin;
}

}  // namespace

void StageFrontierBaseline::Evaluate(const CrossRankView& view,
                                     std::vector<Finding>& findings) const {
  std::vector<Suspect> suspects(kStepStageCount);
  uint32_t steps = 0;
  int64_t exposed_ns = 0;
  for (const StepRow& row : LineUpSteps(view)) {
    if (!row.marked || row.size() < 2) continue;
    ++steps;
    const StepFrontier frontier = FrontierOf(row);
    for (size_t stage = 0; stage < frontier.size(); ++stage) {
      exposed_ns += frontier[stage].increment_ns;
      suspects[stage].stage = stage;
      suspects[stage].exposed_ns += frontier[stage].increment_ns;
      if (IsDecided(frontier[stage])) ++suspects[stage].decided_steps[frontier[stage].leader];
    }
  }
  for (Suspect& suspect : suspects) {
    for (const auto& [rank, led] : suspect.decided_steps) {
      if (led <= suspect.led) continue;
      suspect.leader = rank;
      suspect.led = led;
    }
  }
  std::erase_if(suspects,
                [&](const Suspect& s) { return s.led == 0 || s.led < kMinSteps * steps; });
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const Suspect& a, const Suspect& b) { return a.exposed_ns > b.exposed_ns; });
  for (size_t i = 0; i < std::min(kSuspects, suspects.size()); ++i) {
    const Suspect& suspect = suspects[i];
    const double share = static_cast<double>(suspect.exposed_ns) / static_cast<double>(exposed_ns);
    Claim claim{.subkind = std::string(kStageNames[suspect.stage]),
                .ranks = {view.ranks()[suspect.leader].rank}};
    claim.evidence = {
        {"share_of_exposed_time", "ratio", share, 0, 0, steps},
        {"steps_led", "count", static_cast<double>(suspect.led), 0, kMinSteps * steps, steps}};
    claim.title =
        fmt::format("The {} stage is {} of the exposed time, and {} leads it in {} of {} steps.",
                    claim.subkind, PercentText(share), RankList(claim.ranks), suspect.led, steps);
    findings.push_back(ToFinding(view, *this, std::move(claim)));
  }
}

}  // namespace eroica
