#include "diagnosis/explanation/shared_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "diagnosis/measurements/stack_frames.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

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

bool Calls(const Finding& caller, const Finding& callee) {
  return !caller.function.empty() && callee.stack.find(caller.function) != std::string::npos;
}

}  // namespace

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

bool IsOnDevice(const Finding& claim) {
  return claim.function_class == FunctionClass::kGpuCompute ||
         claim.function_class == FunctionClass::kMemoryOp;
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
