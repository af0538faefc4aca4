#include "diagnosis/explanation/impact.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/measurements/seen_waits.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/step_accounting/airport_share.h"
#include "diagnosis/step_accounting/step_account.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {
namespace {

// What the job may have lost a step by waiting: the most that any rank waited.
double MostWaited(const CrossRankView& view) {
  double most = 0;
  for (const RankView& rank : view.ranks()) most = std::max(most, rank.step.wait_ns);
  return most;
}

bool IsAboutOneRank(const Finding& claim) {
  const bool slow = claim.kind == FindingKind::kSlowRank || claim.kind == FindingKind::kContention;
  return slow && claim.culprits.size() == 1 && claim.culprits[0].rank >= 0 &&
         FindMeasure(claim, "arrived_last") == nullptr;
}

// Whether the steps tell the account. Ranks that it charges with nothing keep their claim, and are
// among the others.
bool ChargeByAccount(const CrossRankView& view, std::vector<Finding*>& slow,
                     std::vector<Finding*>& others) {
  std::map<int32_t, double> claimed;
  for (const Finding* claim : slow) claimed[claim->culprits[0].rank] += claim->lost_ns_per_step;
  std::vector<RankId> ranks;
  for (const auto& [rank, ns] : claimed) ranks.push_back(RankId{static_cast<uint32_t>(rank)});
  const std::optional<std::vector<double>> lost = LostPerStep(view, ranks);
  if (!lost) return false;
  std::map<int32_t, double> charged;
  for (size_t i = 0; i < ranks.size(); ++i)
    charged[static_cast<int32_t>(ranks[i].value)] = (*lost)[i];
  std::erase_if(slow, [&](Finding* claim) {
    const int32_t rank = claim->culprits[0].rank;
    if (charged[rank] <= 0 || claimed[rank] <= 0) {
      others.push_back(claim);
      return true;
    }
    claim->lost_ns_per_step *= charged[rank] / claimed[rank];
    return false;
  });
  return true;
}

void ChargeByFunction(std::vector<Finding*>& slow) {
  std::map<std::string, std::vector<Finding*>> by_function;
  for (Finding* claim : slow) by_function[claim->function].push_back(claim);
  for (auto& [function, claims] : by_function) {
    std::vector<double> lost;
    for (const Finding* claim : claims) lost.push_back(std::max(0.0, claim->lost_ns_per_step));
    ShareAirport(lost);
    for (size_t i = 0; i < claims.size(); ++i) claims[i]->lost_ns_per_step = lost[i];
  }
}

double SumOf(const std::vector<Finding*>& claims) {
  double sum = 0;
  for (const Finding* claim : claims) sum += claim->lost_ns_per_step;
  return sum;
}

}  // namespace

bool ConcernsEverybody(const Finding& claim) {
  return claim.kind == FindingKind::kRegression || claim.operator_name == "regression";
}

void AssignImpacts(const CrossRankView& view, std::vector<Finding>& claims) {
  if (claims.empty()) return;
  std::vector<Finding*> slow;
  std::vector<Finding*> others;
  for (Finding& claim : claims) {
    if (!ConcernsEverybody(claim)) (IsAboutOneRank(claim) ? slow : others).push_back(&claim);
  }
  if (slow.empty() || !ChargeByAccount(view, slow, others)) {
    if (!HasSteps(view)) return;
    ChargeByFunction(slow);
  }
  // Where no wait was seen the losses are not known: claims keep the cost that they came with.
  const bool sees_waits = std::ranges::any_of(
      view.ranks(), [](const RankView& rank) { return SeesWaits(*rank.batch); });
  if (!sees_waits) return;
  const double most = MostWaited(view);
  if (const double sum = SumOf(slow); sum > most) {
    for (Finding* claim : slow) claim->lost_ns_per_step *= most / sum;
  }
  double left = std::max(0.0, most - SumOf(slow));
  std::stable_sort(others.begin(), others.end(), [](const Finding* a, const Finding* b) {
    return a->lost_ns_per_step > b->lost_ns_per_step;
  });
  for (Finding* claim : others) {
    claim->lost_ns_per_step = std::min(claim->lost_ns_per_step, left);
    left -= claim->lost_ns_per_step;
  }
}

}  // namespace eroica
