#include "diagnosis/explanation/rotating_straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "diagnosis/explanation/shared_cause.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/rotating_stalls.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

constexpr size_t kFewestRoaming = 3;  // ranks

// In less than half of the steps: a fault that begins within a window is in half of them.
bool IsOccasional(const Finding& claim) {
  const Measure* slow = SlowSteps(claim);
  return claim.kind == FindingKind::kSlowRank && slow != nullptr &&
         2 * slow->culprit < static_cast<double>(slow->samples);
}

// Says that a rank differs, and not how often.
bool IsTimeless(const Finding& claim) {
  return claim.kind == FindingKind::kSlowRank && SlowSteps(claim) == nullptr;
}

// The function that most of the claims' culprits are named with; of equals the first by name.
// Culprits without a named function do not count; empty where none has one.
std::string MostNamedFunction(const std::vector<Finding>& claims) {
  std::map<std::string, size_t> ranks;
  for (const Finding& claim : claims) {
    if (!claim.function.empty()) ranks[claim.function] += claim.culprits.size();
  }
  if (ranks.empty()) return "";
  return std::max_element(ranks.begin(), ranks.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

size_t RanksOf(const std::vector<Finding>& claims) {
  std::set<int32_t> ranks;
  for (const Finding& claim : claims) {
    for (const Culprit& culprit : claim.culprits) ranks.insert(culprit.rank);
  }
  return ranks.size();
}

// Whether all ranks that roam are of one host, which then is what they share. Where the straggler
// rotates at random over all hosts, the probability of that is hosts^(1 - ranks). The limit is lax,
// as each window is judged anew.
template <typename Roams>
bool RoamOnOneHost(const std::vector<Finding>& claims, size_t hosts, Roams roams) {
  constexpr double kMaxPValue = 1.0 / 8;
  std::set<std::string_view> names;
  size_t ranks = 0;
  for (const Finding& claim : claims) {
    if (!roams(claim)) continue;
    ranks += claim.culprits.size();
    for (const Culprit& culprit : claim.culprits) names.insert(culprit.host);
  }
  return names.size() == 1 && !names.begin()->empty() &&
         std::pow(static_cast<double>(hosts), 1 - static_cast<double>(ranks)) <= kMaxPValue;
}

// What a rank runs in one slow step few samples show. Where a claim of a rotation, which is
// measured over all ranks, accounts for half of the cost, it says what they run; and, as the steps
// show it as well, it has no need of a second window.
bool NameAsMeasuredOverAll(const Finding& rotation, std::vector<Finding>& claims) {
  const auto measured = std::ranges::find_if(claims, [&rotation](const Finding& claim) {
    return claim.subkind == kRoaming && 2 * claim.lost_ns_per_step >= rotation.lost_ns_per_step;
  });
  if (measured == claims.end()) return false;
  std::erase_if(measured->evidence,
                [](const Measure& measure) { return measure.name == kSeenInWindows; });
  return true;
}

// Where the steps name something else than what is measured over all ranks, the next window says
// which of them calls the other.
void AskForAnotherWindow(std::vector<Finding>& claims) {
  constexpr double kWindows = 2;
  for (Finding& claim : claims) {
    if (claim.subkind != kRoaming) continue;
    for (Measure& measure : claim.evidence) {
      if (measure.name == kSeenInWindows) measure.threshold = std::max(measure.threshold, kWindows);
    }
  }
}

}  // namespace

Finding RoamingOf(std::vector<Finding> claims, size_t ranks) {
  double lost_ns_per_step = 0;
  double lost_per_hour = 0;
  for (const Finding& claim : claims) {
    lost_ns_per_step += claim.lost_ns_per_step;
    lost_per_hour += claim.lost_gpu_seconds_per_hour;
  }
  const std::string function = MostNamedFunction(claims);
  Finding finding =
      function.empty() ? claims.front() : *std::ranges::find(claims, function, &Finding::function);
  finding.kind = FindingKind::kStepTime;
  finding.subkind = kRoaming;
  finding.culprits.clear();
  finding.victims.clear();
  finding.lost_ns_per_step = lost_ns_per_step;
  finding.lost_gpu_seconds_per_hour = lost_per_hour;
  finding.title = fmt::format(
      "The straggler rotates among {} ranks: when one of them holds the others up, it mostly runs "
      "{}.",
      ranks, function);
  finding.explanation =
      "No rank is late in most of the steps, so no rank or machine is to blame; what they ran when "
      "they were late is what they share.";
  finding.suggested_action =
      fmt::format("Make {} happen on all ranks at once, or less often.", function);
  if (!function.empty()) return finding;
  finding.title = fmt::format(
      "The straggler rotates among {} ranks: in each of the slow steps another one holds the "
      "others up, and nothing that was recorded of it explains that.",
      ranks);
  finding.explanation = kNobodyIsToBlame;
  finding.suggested_action = kLookForStalls;
  return finding;
}

std::vector<Finding> MergeRoaming(std::vector<Finding> claims, size_t hosts) {
  std::set<std::string> functions;  // of ranks that are late now and then
  for (const Finding& claim : claims) {
    if (IsOccasional(claim) && !claim.function.empty() && !IsOnDevice(claim))
      functions.insert(claim.function);
  }
  const auto shares = [&](const Finding& claim) { return functions.contains(claim.function); };
  const auto roams = [&](const Finding& claim) {
    return (IsOccasional(claim) && !IsOnDevice(claim)) || (IsTimeless(claim) && shares(claim));
  };
  size_t roaming = 0;
  size_t lasting = 0;  // in the same functions
  for (const Finding& claim : claims) {
    if (roams(claim)) roaming += claim.culprits.size();
    if (!roams(claim) && claim.kind == FindingKind::kSlowRank && !IsTimeless(claim) &&
        shares(claim))
      lasting += claim.culprits.size();
  }
  if (roaming < kFewestRoaming || functions.empty() || RoamOnOneHost(claims, hosts, roams))
    return claims;
  // Of many ranks that are late now and then some are late in most steps of a short window.
  const auto short_lived = [&](const Finding& claim) {
    return lasting < roaming && claim.kind == FindingKind::kSlowRank && shares(claim);
  };
  const auto others = std::stable_partition(
      claims.begin(), claims.end(),
      [&](const Finding& claim) { return !roams(claim) && !short_lived(claim); });
  std::vector<Finding> merged(std::make_move_iterator(others),
                              std::make_move_iterator(claims.end()));
  claims.erase(others, claims.end());
  const size_t ranks = RanksOf(merged);
  Finding finding = RoamingOf(std::move(merged), ranks);
  // Where processors are short, one accident of the host may meet several ranks.
  const bool may_be_chance = finding.function.starts_with(kWaitForProcessor) ||
                             FindMeasure(finding, kSharedProcessors) != nullptr;
  if (may_be_chance && FindMeasure(finding, kSeenInWindows) == nullptr) {
    finding.evidence.push_back({std::string(kSeenInWindows), "count", 1, 0,
                                static_cast<double>(kWindowsOfSharedWaits), 1});
  }
  const auto tells_same = [&](const Finding& claim) {
    return claim.subkind == kRoaming && claim.function == finding.function;
  };
  if (std::erase_if(claims, tells_same) == 0) {
    if (NameAsMeasuredOverAll(finding, claims)) return claims;
    AskForAnotherWindow(claims);
  }
  claims.push_back(std::move(finding));
  return claims;
}

void DropVaryingBesideRotation(std::vector<Finding>& claims) {
  double rotation_ns = 0;
  for (const Finding& claim : claims) {
    if (claim.subkind == kRoaming) rotation_ns = std::max(rotation_ns, claim.lost_ns_per_step);
  }
  std::erase_if(claims, [&](const Finding& claim) {
    return claim.kind == FindingKind::kImbalance && claim.subkind == kVarying &&
           2 * rotation_ns >= claim.lost_ns_per_step;
  });
}

}  // namespace eroica
