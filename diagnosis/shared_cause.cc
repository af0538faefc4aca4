#include "diagnosis/shared_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kMostNamed = 8;  // ranks in a sentence

bool SharesCause(const Finding& a, const Finding& b) {
  return a.kind == FindingKind::kSlowRank && b.kind == a.kind && !a.culprits.empty() && !b.culprits.empty() && a.subkind == b.subkind &&
         a.function == b.function && a.function_class == b.function_class;
}

std::string RankList(const std::vector<Culprit>& culprits) {
  std::string list;
  for (size_t i = 0; i < std::min(culprits.size(), kMostNamed); ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", culprits[i].rank);
  if (culprits.size() > kMostNamed) list += fmt::format(" and {} more", culprits.size() - kMostNamed);
  return list;
}

std::string HostList(const std::vector<Culprit>& culprits) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : culprits) {
    if (!culprit.host.empty()) hosts.insert(culprit.host);
  }
  if (hosts.empty() || hosts.size() == culprits.size()) return "";
  std::string list;
  for (const std::string& host : hosts) list += (list.empty() ? "" : ", ") + host;
  return fmt::format(", on host{} {}", hosts.size() == 1 ? "" : "s", list);
}

// group: at least two, the most expensive first.
Finding Combine(std::vector<Finding> group) {
  Finding combined = std::move(group.front());
  std::set<uint32_t> late;
  for (size_t i = 1; i < group.size(); ++i) {
    combined.culprits.insert(combined.culprits.end(), group[i].culprits.begin(), group[i].culprits.end());
    combined.confidence = std::max(combined.confidence, group[i].confidence);
  }
  std::sort(combined.culprits.begin(), combined.culprits.end(), [](const Culprit& a, const Culprit& b) { return a.rank < b.rank; });
  for (const Culprit& culprit : combined.culprits) late.insert(static_cast<uint32_t>(culprit.rank));
  std::erase_if(combined.victims, [&](const Victim& victim) { return late.contains(victim.rank.value); });
  combined.title +=
      fmt::format(" So it is on {} ranks: {}{}.", combined.culprits.size(), RankList(combined.culprits), HostList(combined.culprits));
  return combined;
}

constexpr size_t kFewestRoaming = 3;  // ranks

// In how many of its steps a slow rank was slow; nullptr where the claim does not say.
const Measure* SlowSteps(const Finding& claim) {
  const auto found =
      std::find_if(claim.evidence.begin(), claim.evidence.end(), [](const Measure& measure) { return measure.name == "slow_steps"; });
  return found != claim.evidence.end() ? &*found : nullptr;
}

bool IsOccasional(const Finding& claim) {
  const Measure* slow = SlowSteps(claim);
  return claim.kind == FindingKind::kSlowRank && slow != nullptr && 2 * slow->culprit <= static_cast<double>(slow->samples);
}

// Says that a rank differs, and not how often.
bool IsTimeless(const Finding& claim) { return claim.kind == FindingKind::kSlowRank && SlowSteps(claim) == nullptr; }

// By how many of the claims' culprits it is named; of equals the first by name.
std::string MostNamedFunction(const std::vector<Finding>& claims) {
  std::map<std::string, size_t> ranks;
  for (const Finding& claim : claims) ranks[claim.function] += claim.culprits.size();
  return std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
}

Finding Roaming(std::vector<Finding> claims) {
  std::set<int32_t> ranks;
  for (const Finding& claim : claims) {
    for (const Culprit& culprit : claim.culprits) ranks.insert(culprit.rank);
  }
  const std::string function = MostNamedFunction(claims);
  Finding finding = *std::find_if(claims.begin(), claims.end(), [&](const Finding& claim) { return claim.function == function; });
  finding.kind = FindingKind::kStepTime;
  finding.subkind = "roaming";
  finding.culprits.clear();
  finding.victims.clear();
  finding.title = fmt::format("Now this rank and now that one holds the others up, {} of them in this window: most run {} when they do.",
                              ranks.size(), function);
  finding.explanation =
      "No rank is late in most of the steps, so no rank or machine is to blame; what they ran when they were late is what they share.";
  finding.suggested_action = fmt::format("Make {} happen on all ranks at once, or less often.", function);
  return finding;
}

}  // namespace

std::vector<Finding> MergeRoaming(std::vector<Finding> claims) {
  size_t ranks = 0;
  for (const Finding& claim : claims) ranks += IsOccasional(claim) ? claim.culprits.size() : 0;
  if (ranks < kFewestRoaming) return claims;
  const auto roaming =
      std::stable_partition(claims.begin(), claims.end(), [](const Finding& claim) { return !IsOccasional(claim) && !IsTimeless(claim); });
  std::vector<Finding> occasional(std::make_move_iterator(roaming), std::make_move_iterator(claims.end()));
  claims.erase(roaming, claims.end());
  claims.push_back(Roaming(std::move(occasional)));
  return claims;
}

std::vector<Finding> MergeBySharedCause(std::vector<Finding> claims) {
  std::vector<Finding> merged;
  while (!claims.empty()) {
    const auto rest = std::stable_partition(claims.begin(), claims.end(), [&](const Finding& claim) {
      return &claim == &claims.front() || SharesCause(claim, claims.front());
    });
    std::vector<Finding> group(std::make_move_iterator(claims.begin()), std::make_move_iterator(rest));
    claims.erase(claims.begin(), rest);
    std::stable_sort(group.begin(), group.end(),
                     [](const Finding& a, const Finding& b) { return a.lost_ns_per_step > b.lost_ns_per_step; });
    merged.push_back(group.size() == 1 ? std::move(group.front()) : Combine(std::move(group)));
  }
  return merged;
}

}  // namespace eroica
