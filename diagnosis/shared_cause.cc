#include "diagnosis/shared_cause.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

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
