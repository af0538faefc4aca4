#include "diagnosis/collective_wait/arrival_account.h"

#include <algorithm>
#include <cmath>

#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

void AddBlockers(const std::vector<Blocker>& from, std::vector<Blocker>& to) {
  for (const Blocker& blocker : from) {
    const auto known = std::find_if(
        to.begin(), to.end(), [&](const Blocker& b) { return b.function == blocker.function; });
    if (known == to.end()) {
      to.push_back(blocker);
      continue;
    }
    known->count += blocker.count;
    known->caused_wait_ns += blocker.caused_wait_ns;
    known->run_ns += blocker.run_ns;
  }
}

void AddMember(const MemberSummary& member, size_t group, ArrivalAccount& account) {
  account.rank = member.rank;
  account.operations += member.count;
  account.expected_last += static_cast<double>(member.count) / static_cast<double>(group);
  account.last += member.last_count;
  account.caused_wait_ns += member.caused_wait_ns;
  account.exposed_wait_ns += member.exposed_wait_ns;
  account.largest_group = std::max(account.largest_group, static_cast<uint32_t>(group));
  account.late_steps.insert(member.late_steps.begin(), member.late_steps.end());
  AddBlockers(member.blockers, account.blockers);
}

// Stages of a pipeline arrive in the order of the schedule, whoever is slow.
bool CrossesRoles(const CrossRankView& view, const CollectiveSummary& summary) {
  const RankView* first = view.FindRank(summary.members.front().rank);
  return std::any_of(summary.members.begin(), summary.members.end(),
                     [&](const MemberSummary& member) {
                       const RankView* rank = view.FindRank(member.rank);
                       return first != nullptr && rank != nullptr && rank->role != first->role;
                     });
}

// How often it arrives last.
double PValueOfCount(const ArrivalAccount& rank) {
  return BinomialTail(rank.operations, rank.last,
                      rank.expected_last / static_cast<double>(rank.operations));
}

// By how much longer the others wait for it than for each other.
double PValueOfWaits(std::span<const ArrivalAccount> accounts, const ArrivalAccount& rank) {
  constexpr double kTimerResolutionNs = 1e3;
  double others_last = 0;
  double others_ns = 0;
  for (const ArrivalAccount& other : accounts) {
    if (other.rank == rank.rank) continue;
    others_last += static_cast<double>(other.last);
    others_ns += static_cast<double>(other.caused_wait_ns);
  }
  const auto last = static_cast<double>(rank.last);
  if (last < 1 || others_last < 1) return 1;
  return FisherTail(static_cast<double>(rank.caused_wait_ns) / last /
                        std::max(kTimerResolutionNs, others_ns / others_last),
                    last, others_last);
}

// Of two independent ones: the tail of a chi-squared with four degrees of freedom.
double Together(double a, double b) {
  const double product = a * b;
  return product > 0 ? product * (1 - std::log(product)) : 0;
}

}  // namespace

double PValueOfArrivals(std::span<const ArrivalAccount> accounts, const ArrivalAccount& rank) {
  if (rank.operations == 0) return 1;
  return std::min(1.0, static_cast<double>(accounts.size()) *
                           Together(PValueOfCount(rank), PValueOfWaits(accounts, rank)));
}

std::vector<ArrivalAccount> AccountArrivals(const CrossRankView& view) {
  std::map<RankId, ArrivalAccount> by_rank;
  for (const CollectiveSummary& summary : view.summaries()) {
    if (!summary.missing.empty() || summary.members.size() < 2 || CrossesRoles(view, summary))
      continue;
    for (const MemberSummary& member : summary.members)
      AddMember(member, summary.members.size(), by_rank[member.rank]);
  }
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const PairSummary& pair : summary.pairs) {
      const auto account = by_rank.find(pair.destination);
      if (account != by_rank.end()) account->second.receive_wait_ns += pair.receive_wait_ns;
    }
  }
  std::vector<ArrivalAccount> accounts;
  for (auto& [rank, account] : by_rank) {
    std::sort(account.blockers.begin(), account.blockers.end(),
              [](const Blocker& a, const Blocker& b) {
                return a.caused_wait_ns != b.caused_wait_ns ? a.caused_wait_ns > b.caused_wait_ns
                                                            : a.function < b.function;
              });
    accounts.push_back(std::move(account));
  }
  return accounts;
}

}  // namespace eroica
