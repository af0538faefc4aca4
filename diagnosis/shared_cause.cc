#include "diagnosis/shared_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "diagnosis/finding_measures.h"
#include "diagnosis/stack_frames.h"
#include "diagnosis/thread_function.h"

namespace eroica {
namespace {

constexpr size_t kMostNamed = 8;  // ranks in a sentence

// The function, or the one that calls it where it is C code, which is no place in anybody's source.
std::string_view SourceOf(const Finding& finding) {
  if (!IsBuiltin(finding.function) || finding.stack.empty()) return finding.function;
  const std::string_view stack = finding.stack;
  const size_t last = stack.rfind(kStackSeparator);
  return last == std::string_view::npos ? stack : stack.substr(last + kStackSeparator.size());
}

// Of all culprits; empty where they are on several.
std::string_view HostOf(const Finding& finding) {
  if (finding.culprits.empty()) return "";
  const std::string& host = finding.culprits.front().host;
  const bool all = std::ranges::all_of(
      finding.culprits, [&host](const Culprit& culprit) { return culprit.host == host; });
  return all ? std::string_view(host) : "";
}

// In most steps.
bool IsOfDevices(const Finding& finding) {
  return finding.kind == FindingKind::kSlowRank && finding.subkind != kTransient &&
         finding.function_class == FunctionClass::kGpuCompute;
}

bool IsMomentOfDevice(const Finding& finding) {
  return finding.subkind == kTransient && !RunsOnThread(finding.function_class);
}

bool SharesCause(const Finding& a, const Finding& b) {
  const bool of_ranks = a.kind == FindingKind::kSlowRank || a.kind == FindingKind::kContention;
  if (!of_ranks || b.kind != a.kind || a.culprits.empty() || b.culprits.empty() ||
      a.subkind != b.subkind)
    return false;
  if (IsMomentOfDevice(a) && HostOf(a) != HostOf(b)) return false;
  return (SourceOf(a) == SourceOf(b) && a.function_class == b.function_class) || AreOfOneHost(a, b);
}

std::string RankList(const std::vector<Culprit>& culprits) {
  std::string list;
  for (size_t i = 0; i < std::min(culprits.size(), kMostNamed); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", culprits[i].rank);
  if (culprits.size() > kMostNamed)
    list += fmt::format(" and {} more", culprits.size() - kMostNamed);
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
    const size_t before = combined.culprits.size();
    for (const Culprit& culprit : group[i].culprits) {
      if (std::ranges::find(combined.culprits, culprit) == combined.culprits.end())
        combined.culprits.push_back(culprit);
    }
    combined.confidence = std::max(combined.confidence, group[i].confidence);
    if (combined.culprits.size() > before) combined.lost_ns_per_step += group[i].lost_ns_per_step;
  }
  std::sort(combined.culprits.begin(), combined.culprits.end(),
            [](const Culprit& a, const Culprit& b) { return a.rank < b.rank; });
  for (const Culprit& culprit : combined.culprits) late.insert(static_cast<uint32_t>(culprit.rank));
  std::erase_if(combined.victims,
                [&](const Victim& victim) { return late.contains(victim.rank.value); });
  combined.title += fmt::format(" So it is on {} ranks: {}{}.", combined.culprits.size(),
                                RankList(combined.culprits), HostList(combined.culprits));
  return combined;
}

constexpr size_t kFewestRoaming = 3;  // ranks

// In less than half of the steps: a fault that begins within a window is in half of them.
bool TakesTurns(const Finding& claim) {
  const Measure* slow = SlowSteps(claim);
  return claim.kind == FindingKind::kSlowRank && slow != nullptr &&
         2 * slow->culprit < static_cast<double>(slow->samples);
}

// Says that a rank differs, and not how often.
bool IsTimeless(const Finding& claim) {
  return claim.kind == FindingKind::kSlowRank && SlowSteps(claim) == nullptr;
}

// By how many of the claims' culprits it is named; of equals the first by name. What most run
// nothing in that stands out is told by the others.
std::string MostNamedFunction(const std::vector<Finding>& claims) {
  std::map<std::string, size_t> ranks;
  for (const Finding& claim : claims) {
    if (!claim.function.empty()) ranks[claim.function] += claim.culprits.size();
  }
  return std::max_element(ranks.begin(), ranks.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

bool IsOnDevice(const Finding& claim) {
  return claim.function_class == FunctionClass::kGpuCompute ||
         claim.function_class == FunctionClass::kMemoryOp;
}

size_t RanksOf(const std::vector<Finding>& claims) {
  std::set<int32_t> ranks;
  for (const Finding& claim : claims) {
    for (const Culprit& culprit : claim.culprits) ranks.insert(culprit.rank);
  }
  return ranks.size();
}

// Where who takes turns is at random, the other hosts have their share: all are of one host by
// chance in one of hosts^(ranks - 1) windows. The next one tells.
template <typename Roams>
bool RoamOnOneHost(const std::vector<Finding>& claims, size_t hosts, Roams roams) {
  constexpr double kChance = 1.0 / 8;
  std::set<std::string_view> names;
  size_t ranks = 0;
  for (const Finding& claim : claims) {
    if (!roams(claim)) continue;
    ranks += claim.culprits.size();
    for (const Culprit& culprit : claim.culprits) names.insert(culprit.host);
  }
  return names.size() == 1 && !names.begin()->empty() &&
         std::pow(static_cast<double>(hosts), 1 - static_cast<double>(ranks)) <= kChance;
}

// What a rank runs in one slow step is told by few samples. Where a claim of turns, which is
// measured over all ranks, accounts for half of the cost, it says what they run; and, told by the
// steps as well, it has no need of a second window.
bool NameAsMeasuredOverAll(const Finding& turns, std::vector<Finding>& claims) {
  const auto told = std::ranges::find_if(claims, [&turns](const Finding& claim) {
    return claim.subkind == kRoaming && 2 * claim.lost_ns_per_step >= turns.lost_ns_per_step;
  });
  if (told == claims.end()) return false;
  std::erase_if(told->evidence,
                [](const Measure& measure) { return measure.name == kSeenInWindows; });
  return true;
}

// Where the steps name something else than what is measured over all ranks, the next window tells
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

bool Calls(const Finding& caller, const Finding& callee) {
  return !caller.function.empty() && callee.stack.find(caller.function) != std::string::npos;
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
  Finding finding = *std::find_if(claims.begin(), claims.end(),
                                  [&](const Finding& claim) { return claim.function == function; });
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
  return finding;
}

std::vector<Finding> MergeRoaming(std::vector<Finding> claims, size_t hosts) {
  std::set<std::string> functions;  // of ranks that are late now and then
  for (const Finding& claim : claims) {
    if (TakesTurns(claim) && !claim.function.empty() && !IsOnDevice(claim))
      functions.insert(claim.function);
  }
  const auto shares = [&](const Finding& claim) { return functions.contains(claim.function); };
  const auto roams = [&](const Finding& claim) {
    return (TakesTurns(claim) && !IsOnDevice(claim)) || (IsTimeless(claim) && shares(claim));
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
  // Of many ranks that are late by turns some are late in most steps of a short window.
  const auto chance = [&](const Finding& claim) {
    return lasting < roaming && claim.kind == FindingKind::kSlowRank && shares(claim);
  };
  const auto others =
      std::stable_partition(claims.begin(), claims.end(),
                            [&](const Finding& claim) { return !roams(claim) && !chance(claim); });
  std::vector<Finding> merged(std::make_move_iterator(others),
                              std::make_move_iterator(claims.end()));
  claims.erase(others, claims.end());
  const size_t ranks = RanksOf(merged);
  Finding finding = RoamingOf(std::move(merged), ranks);
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

bool NameOneCall(const Finding& a, const Finding& b) {
  return a.function == b.function || Calls(a, b) || Calls(b, a);
}

bool AreOfOneHost(const Finding& a, const Finding& b) {
  // the outermost function calls everything
  const bool known = !a.stack.empty() && !b.stack.empty();
  if (a.kind != b.kind || !RunsOnThread(a.function_class) || !RunsOnThread(b.function_class) ||
      !known || !NameOneCall(a, b))
    return false;
  return std::ranges::any_of(a.culprits, [&b](const Culprit& x) {
    return !x.host.empty() &&
           std::ranges::any_of(b.culprits, [&x](const Culprit& y) { return x.host == y.host; });
  });
}

bool ExplainsOnAll(const Finding& on_all, const Finding& claim) {
  if (!on_all.culprits.empty() || on_all.function.empty() || claim.kind != FindingKind::kSlowRank)
    return false;
  if (on_all.kind != FindingKind::kRegression && on_all.kind != FindingKind::kStepTime)
    return false;
  return NameOneCall(on_all, claim);
}

void DropExplainedByAll(std::vector<Finding>& findings) {
  std::vector<Finding> on_all;
  for (const Finding& finding : findings) {
    if (finding.culprits.empty()) on_all.push_back(finding);
  }
  std::erase_if(findings, [&](const Finding& finding) {
    if (finding.subkind == kWholeHost) return false;
    return std::any_of(on_all.begin(), on_all.end(), [&](const Finding& all) {
      return ExplainsOnAll(all, finding) && finding.lost_ns_per_step < all.lost_ns_per_step;
    });
  });
}

namespace {

bool IsVictim(const Finding& claim, int32_t rank) {
  return std::ranges::any_of(claim.victims, [rank](const Victim& victim) {
    return static_cast<int32_t>(victim.rank.value) == rank;
  });
}

bool OfOneRank(const Finding& claim, int32_t rank) {
  return claim.culprits.size() == 1 && claim.culprits.front().peer < 0 &&
         claim.culprits.front().rank == rank;
}

// Ranks of the host, in what it is slow in: on its devices, or beside them.
bool IsOfHost(const Finding& claim, const Finding& host) {
  const bool of_ranks =
      claim.kind == FindingKind::kSlowRank || claim.kind == FindingKind::kContention;
  if (host.subkind != kWholeHost || claim.subkind == kWholeHost || !of_ranks ||
      claim.culprits.empty())
    return false;
  return IsOnDevice(claim) == IsOnDevice(host) &&
         std::ranges::all_of(claim.culprits, [&](const Culprit& culprit) {
           return culprit.host == host.culprits.front().host;
         });
}

// Copies between host and device pass the slot that the NIC's data passes.
bool IsCopiesOfPort(const Finding& claim, const Finding& port) {
  if (port.kind != FindingKind::kCommunication || port.culprits.size() != 1 ||
      port.culprits.front().rank < 0)
    return false;
  return claim.kind == FindingKind::kSlowRank && claim.function_class == FunctionClass::kMemoryOp &&
         claim.subkind != kTransient && port.culprits.front().peer < 0 &&
         OfOneRank(claim, port.culprits.front().rank);
}

// Kernels move the data, so a device on which they take longer moves it by as much slower; one that
// somebody else uses by any amount.
bool IsLinkOfDevice(const Finding& claim, const Finding& device) {
  constexpr double kAtMost = 2;
  if (claim.kind != FindingKind::kCommunication || claim.subkind == kNvlinkDown) return false;
  if (std::ranges::none_of(device.culprits,
                           [&](const Culprit& culprit) { return OfOneRank(claim, culprit.rank); }))
    return false;
  if (device.kind == FindingKind::kContention) return true;
  const Measure* kernels = FindMeasure(device, "kernels_longer");
  const Measure* speed = FindMeasure(claim, "speed");
  return device.kind == FindingKind::kSlowRank && kernels != nullptr && speed != nullptr &&
         speed->culprit > 0 && speed->peers <= (1 + kAtMost * kernels->culprit) * speed->culprit;
}

// A process that gets no processor, or no interpreter lock, sends and reads late whatever its
// connections could carry; and one whose thread is late for another reason moves data late by as
// much at most, where the thread itself moves it (sockets).
bool IsLinkOfLateThread(const Finding& claim, const Finding& rank) {
  if (claim.kind != FindingKind::kCommunication || claim.culprits.size() != 1 ||
      claim.culprits.front().rank < 0)
    return false;
  if (rank.kind != FindingKind::kSlowRank || rank.subkind == kTransient ||
      !RunsOnThread(rank.function_class))
    return false;
  if (!IsStarvation(rank.function) && claim.lost_ns_per_step >= rank.lost_ns_per_step) return false;
  const Culprit& path = claim.culprits.front();
  return std::ranges::any_of(rank.culprits, [&path](const Culprit& culprit) {
    return culprit.rank >= 0 && (culprit.rank == path.rank || culprit.rank == path.peer);
  });
}

// Of two ends that one window cannot tell apart, the next shows one to be slow to others, too.
bool IsPathOfPort(const Finding& claim, const Finding& port) {
  const auto is_link = [](const Finding& finding) {
    return finding.kind == FindingKind::kCommunication && finding.culprits.size() == 1 &&
           finding.culprits.front().rank >= 0;
  };
  if (!is_link(claim) || !is_link(port) || claim.culprits.front().peer < 0 ||
      port.culprits.front().peer >= 0)
    return false;
  const Culprit& path = claim.culprits.front();
  return path.rank == port.culprits.front().rank || path.peer == port.culprits.front().rank;
}

// What has become longer on all ranks is longest now on this one and now on that one.
bool AreTurnsInSlower(const Finding& claim, const Finding& on_all) {
  return claim.subkind == kRoaming && on_all.kind == FindingKind::kRegression &&
         on_all.culprits.empty() && !on_all.function.empty() && NameOneCall(claim, on_all);
}

// Who calls what ranks take turns in takes as long.
bool AreTurnsOfCaller(const Finding& claim, const Finding& callee) {
  return claim.subkind == kRoaming && callee.subkind == kRoaming &&
         claim.function != callee.function && Calls(claim, callee);
}

}  // namespace

void DropStagesOfSlowRanks(std::vector<Finding>& claims, size_t ranks) {
  const std::vector<Finding> all = claims;
  std::erase_if(claims, [&](const Finding& claim) {
    if (claim.kind != FindingKind::kImbalance || claim.subkind != "stage" ||
        claim.victims.size() + 1 != ranks)
      return false;
    return std::ranges::any_of(all, [&](const Finding& rank) {
      const Measure* work = FindMeasure(claim, "work_per_step");
      const bool heavy_without =
          work == nullptr || work->culprit - rank.lost_ns_per_step >= work->threshold;
      return rank.kind == FindingKind::kSlowRank && rank.culprits.size() == 1 &&
             !IsVictim(claim, rank.culprits.front().rank) &&
             (claim.lost_ns_per_step <= 2 * rank.lost_ns_per_step || !heavy_without);
    });
  });
}

void DropHostsOfOneSlowRank(std::vector<Finding>& claims) {
  const std::vector<Finding> all = claims;
  std::erase_if(claims, [&](const Finding& host) {
    if (host.subkind != kWholeHost || host.function_class != FunctionClass::kGpuCompute)
      return false;
    return std::ranges::any_of(all, [&](const Finding& rank) {
      const bool is_there =
          rank.kind == FindingKind::kSlowRank && rank.function_class == host.function_class &&
          rank.culprits.size() == 1 &&
          std::ranges::find(host.culprits, rank.culprits.front()) != host.culprits.end();
      return is_there && 2 * rank.lost_ns_per_step >=
                             static_cast<double>(host.culprits.size()) * host.lost_ns_per_step;
    });
  });
}

void DropRanksOfSlowHosts(std::vector<Finding>& claims) {
  std::vector<Finding> hosts;
  std::ranges::copy_if(claims, std::back_inserter(hosts),
                       [](const Finding& claim) { return claim.subkind == kWholeHost; });
  std::erase_if(claims, [&](const Finding& claim) {
    const bool of_nobody = claim.kind == FindingKind::kImbalance && claim.culprits.empty();
    return std::ranges::any_of(hosts, [&](const Finding& host) {
      const bool is_hosts = IsOnDevice(claim) == IsOnDevice(host) &&
                            claim.lost_ns_per_step <= 2 * host.lost_ns_per_step;
      return of_nobody ? is_hosts : IsOfHost(claim, host);
    });
  });
}

bool IsPartOf(const Finding& claim, const Finding& whole) {
  return IsOfHost(claim, whole) || IsCopiesOfPort(claim, whole) || IsLinkOfDevice(claim, whole) ||
         IsLinkOfLateThread(claim, whole);
}

bool TellsLessThan(const Finding& claim, const Finding& other) {
  return IsPathOfPort(claim, other) || AreTurnsOfCaller(claim, other) ||
         AreTurnsInSlower(claim, other);
}

bool AreDevicesOfOneHost(const Finding& a, const Finding& b) {
  if (!IsOfDevices(a) || !IsOfDevices(b) || HostOf(a).empty() || HostOf(a) != HostOf(b))
    return false;
  return a.function == b.function || a.subkind == kWholeRank || b.subkind == kWholeRank;
}

bool IsGlimpseOf(const Finding& claim, const Finding& whole) {
  const auto is_glimpse = [](const Finding& finding) {
    return finding.subkind == kTransient || finding.subkind == kLateArrival;
  };
  const bool on_thread = !claim.function.empty() && RunsOnThread(claim.function_class);
  if (claim.culprits.empty() || !is_glimpse(claim) || is_glimpse(whole) ||
      (claim.subkind == kTransient && on_thread))
    return false;
  const bool of_ranks =
      whole.kind == FindingKind::kSlowRank || whole.kind == FindingKind::kContention;
  if (!of_ranks && whole.kind != FindingKind::kCommunication) return false;
  if (IsMomentOfDevice(claim) && IsOfDevices(whole) && whole.culprits.size() > 1 &&
      HostOf(claim) == HostOf(whole))
    return !HostOf(whole).empty();
  return std::ranges::all_of(claim.culprits, [&whole](const Culprit& own) {
    return std::ranges::any_of(whole.culprits, [&own](const Culprit& culprit) {
      return culprit.rank == own.rank && own.rank >= 0;
    });
  });
}

void DropParts(std::vector<Finding>& findings) {
  const std::vector<Finding> all = findings;
  std::erase_if(findings, [&](const Finding& claim) {
    return std::ranges::any_of(all, [&](const Finding& whole) { return IsPartOf(claim, whole); });
  });
}

std::vector<Finding> MergeBySharedCause(std::vector<Finding> claims) {
  std::vector<Finding> merged;
  while (!claims.empty()) {
    const auto rest =
        std::stable_partition(claims.begin(), claims.end(), [&](const Finding& claim) {
          return &claim == &claims.front() || SharesCause(claim, claims.front());
        });
    std::vector<Finding> group(std::make_move_iterator(claims.begin()),
                               std::make_move_iterator(rest));
    claims.erase(claims.begin(), rest);
    std::stable_sort(group.begin(), group.end(), [](const Finding& a, const Finding& b) {
      return a.lost_ns_per_step > b.lost_ns_per_step;
    });
    merged.push_back(group.size() == 1 ? std::move(group.front()) : Combine(std::move(group)));
  }
  return merged;
}

}  // namespace eroica
