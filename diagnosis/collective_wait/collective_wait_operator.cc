#include "diagnosis/collective_wait/collective_wait_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "diagnosis/collective_wait/arrival_account.h"
#include "diagnosis/deciding_numbers.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/slow_rank/unattributed_work.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

size_t StepsIn(const CrossRankView& view) {
  size_t steps = 0;
  for (const RankView& rank : view.ranks()) steps = std::max(steps, rank.batch->steps.size());
  return steps;
}

// Checkpoints and evaluations are left out of the steps, and not out of the summaries: who is last
// there is no matter.
bool StepsAreLeftOut(const CrossRankView& view) {
  return std::ranges::any_of(view.ranks(), [](const RankView& rank) {
    const Window& window = rank.batch->window;
    const auto ran =
        static_cast<size_t>(window.first_step >= 0 ? window.last_step - window.first_step + 1 : 0);
    return !rank.batch->silent && rank.batch->steps.size() < ran;
  });
}

std::vector<Victim> VictimsOf(const std::vector<ArrivalAccount>& accounts,
                              const ArrivalAccount& culprit, int64_t caused_by_all, size_t steps) {
  std::vector<Victim> victims;
  const double share =
      static_cast<double>(culprit.caused_wait_ns) / static_cast<double>(caused_by_all);
  for (const ArrivalAccount& account : accounts) {
    if (account.rank == culprit.rank || account.exposed_wait_ns <= 0) continue;
    const double lost = share * static_cast<double>(account.exposed_wait_ns);
    victims.push_back({.rank = account.rank,
                       .lost_ns = static_cast<int64_t>(lost),
                       .lost_ns_per_step = lost / static_cast<double>(std::max<size_t>(1, steps))});
  }
  return victims;
}

// It comes late because what others send to it does: it waits for them for half as long and more as
// anybody waits for it. In a pipeline the stage behind the slow one does.
bool IsVictim(const std::vector<ArrivalAccount>& accounts, const ArrivalAccount& rank) {
  int64_t worst = 0;
  for (const ArrivalAccount& other : accounts) {
    if (other.rank != rank.rank) worst = std::max(worst, other.exposed_wait_ns);
  }
  return 2 * rank.receive_wait_ns >= worst;
}

// "then rank 5 at 2 and rank 4 at 1": the others that came last, so that nobody takes the main
// culprit for the only one.
std::string OthersThatCameLast(const std::vector<ArrivalAccount>& accounts,
                               const ArrivalAccount& culprit) {
  std::vector<const ArrivalAccount*> others;
  for (const ArrivalAccount& account : accounts) {
    if (account.rank != culprit.rank && account.last > 0) others.push_back(&account);
  }
  std::stable_sort(others.begin(), others.end(), [](const auto* a, const auto* b) {
    return a->caused_wait_ns > b->caused_wait_ns;
  });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, others.size()); ++i) {
    text +=
        fmt::format("{}rank {} at {} ({})", text.empty() ? "" : ", ", others[i]->rank.value,
                    others[i]->last, DurationText(static_cast<double>(others[i]->caused_wait_ns)));
  }
  return text.empty() ? text : fmt::format(" The others that came last: {}.", text);
}

// What the rank ran while the others waited.
struct Meanwhile {
  const Blocker* blocker = nullptr;  // that its peers do not run as long
  std::string text;
};

double MedianOfPeers(const CrossRankView& view, const RankView& rank,
                     const std::function<double(const RankView&)>& time_of) {
  std::vector<double> peers;
  for (const RankView& peer : view.ranks()) {
    if (&peer != &rank && peer.role == rank.role && peer.has_steps())
      peers.push_back(time_of(peer));
  }
  return Median(std::span(peers));
}

// A step, of one function.
double TimeIn(FunctionId function, const RankView& rank) {
  int64_t ns = 0;
  for (const FunctionPattern& pattern : rank.batch->patterns)
    ns += pattern.function == function ? pattern.critical_ns : 0;
  return PerStep(rank.step, ns);
}

// By how much longer the rank runs the function than its peers do, a step. 0 for a function that
// its peers run as long: it does not make the rank late.
double BeyondPeers(const CrossRankView& view, const RankView& rank, const Blocker& blocker,
                   double lost_ns) {
  if (view.FindFunction(blocker.function) == nullptr) return PerStep(rank.step, blocker.run_ns);
  const auto time_of = [&blocker](const RankView& of) { return TimeIn(blocker.function, of); };
  const double own_ns = time_of(rank);
  const double beyond_ns = own_ns - MedianOfPeers(view, rank, time_of);
  return beyond_ns >= kHalf * std::min(own_ns, lost_ns) ? beyond_ns : 0;
}

// lost_ns: time that the other ranks lose, a step.
Meanwhile WhatItRan(const CrossRankView& view, const ArrivalAccount& culprit, double lost_ns) {
  constexpr double kLeastPart = 0.1;  // of what is lost
  const RankView& rank = *view.FindRank(culprit.rank);
  const Blocker* longest = nullptr;
  double longest_ns = kLeastPart * lost_ns;
  for (const Blocker& blocker : culprit.blockers) {
    const double beyond_ns = BeyondPeers(view, rank, blocker, lost_ns);
    if (beyond_ns < longest_ns) continue;
    longest = &blocker;
    longest_ns = beyond_ns;
  }
  const auto named = [&] {
    return Meanwhile{longest, fmt::format("meanwhile it ran {} ({})", longest->name,
                                          DurationText(static_cast<double>(longest->run_ns)))};
  };
  if (longest != nullptr && longest_ns >= kHalf * lost_ns) return named();
  const double own_ns = UnattributedNs(rank);
  const double peers_ns = MedianOfPeers(view, rank, UnattributedNs);
  if (own_ns - peers_ns >= kHalf * lost_ns) {
    return {nullptr, fmt::format("its training thread takes it, in functions that were not "
                                 "recorded ({} a step, its peers {})",
                                 DurationText(own_ns), DurationText(peers_ns))};
  }
  if (longest != nullptr) return named();
  return {nullptr, "what it ran meanwhile and its peers did not is not in the telemetry"};
}

Finding Describe(const CrossRankView& view, const std::vector<ArrivalAccount>& accounts,
                 const ArrivalAccount& culprit, int64_t caused_by_all, double max_p_value) {
  const RankView& rank = *view.FindRank(culprit.rank);
  const size_t steps = std::max<size_t>(1, StepsIn(view));
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = kLateArrival;
  finding.culprits = {{.rank = static_cast<int32_t>(culprit.rank.value),
                       .host = rank.batch->host,
                       .device = rank.batch->device}};
  finding.victims = VictimsOf(accounts, culprit, caused_by_all, steps);
  int64_t worst = 0;
  for (const Victim& victim : finding.victims) worst = std::max(worst, victim.lost_ns);
  finding.lost_ns_per_step = static_cast<double>(worst) / static_cast<double>(steps);
  const Meanwhile meanwhile = WhatItRan(view, culprit, finding.lost_ns_per_step);
  if (meanwhile.blocker != nullptr) {
    finding.function = meanwhile.blocker->name;
    finding.stack = meanwhile.blocker->stack;
    const FunctionColumn* column = view.FindFunction(meanwhile.blocker->function);
    if (column != nullptr) finding.function_class = column->sample->function_class;
  }
  const double caused_share =
      static_cast<double>(culprit.caused_wait_ns) / static_cast<double>(caused_by_all);
  const double peers_last =
      (static_cast<double>(culprit.operations) - static_cast<double>(culprit.last)) /
      (static_cast<double>(accounts.size()) - 1);
  finding.evidence = {
      {"arrived_last", "count", static_cast<double>(culprit.last), peers_last,
       culprit.expected_last, culprit.operations},
      {"p_value_of_arriving_last", "probability", PValueOfArrivals(accounts, culprit), 0.5,
       max_p_value, culprit.operations},
      {"caused_wait", "ns", static_cast<double>(culprit.caused_wait_ns),
       static_cast<double>(caused_by_all - culprit.caused_wait_ns) /
           (static_cast<double>(accounts.size()) - 1),
       0, culprit.operations},
      {"own_wait", "ns", static_cast<double>(culprit.exposed_wait_ns), static_cast<double>(worst),
       0, culprit.operations},
  };
  if (!culprit.late_steps.empty())
    finding.evidence.push_back({"slow_steps", "count",
                                static_cast<double>(std::min(culprit.late_steps.size(), steps)), 0,
                                0, steps});
  finding.title = fmt::format(
      "Rank {} arrived last at {} of {} collectives and made {} ranks wait {} in sum (up to {} "
      "each); {}.",
      culprit.rank.value, culprit.last, culprit.operations, finding.victims.size(),
      DurationText(static_cast<double>(culprit.caused_wait_ns)),
      DurationText(static_cast<double>(worst)), meanwhile.text);
  finding.explanation = fmt::format(
      "All members leave a collective together, so the one whose own operation is the shortest "
      "came last. Rank {} caused {} of all {} that ranks spent waiting for a late one, and itself "
      "waited {}. A rank like all others would arrive last at {:.1f} of {}.{}",
      culprit.rank.value, PercentText(caused_share),
      DurationText(static_cast<double>(caused_by_all)),
      DurationText(static_cast<double>(culprit.exposed_wait_ns)), culprit.expected_last,
      culprit.operations, OthersThatCameLast(accounts, culprit));
  finding.suggested_action = fmt::format(
      "Capture more steps: if rank {} comes last again, look at what it runs before its "
      "collectives.",
      culprit.rank.value);
  finding.caveats.push_back(steps == 1 ? "One single step: persistence is not shown."
                                       : "Two steps only: persistence is not shown.");
  if (!rank.batch->steps.empty()) {
    finding.first_step = rank.batch->steps.front().id;
    finding.last_step = rank.batch->steps.back().id;
  }
  finding.confidence = std::min(0.5, 0.5 * caused_share + 0.15);
  return finding;
}

}  // namespace

void CollectiveWaitOperator::Evaluate(const CrossRankView& view,
                                      std::vector<Finding>& findings) const {
  if (StepsIn(view) > options_.max_steps || StepsAreLeftOut(view)) return;
  const std::vector<ArrivalAccount> accounts = AccountArrivals(view);
  int64_t caused_by_all = 0;
  for (const ArrivalAccount& account : accounts) caused_by_all += account.caused_wait_ns;
  if (caused_by_all <= 0 || accounts.size() < 3) return;
  const ArrivalAccount& worst = *std::max_element(
      accounts.begin(), accounts.end(),
      [](const auto& a, const auto& b) { return a.caused_wait_ns < b.caused_wait_ns; });
  const double victims = static_cast<double>(accounts.size()) - 1;
  const double lost_share =
      static_cast<double>(worst.caused_wait_ns) / victims / std::max(1.0, WindowLength(view));
  const double max_p_value =
      lost_share >= options_.large_loss ? options_.max_p_value_of_large_loss : options_.max_p_value;
  if (view.FindRank(worst.rank) == nullptr || worst.operations < options_.min_operations ||
      PValueOfArrivals(accounts, worst) > max_p_value)
    return;
  if (lost_share < options_.min_lost_share || IsVictim(accounts, worst)) return;
  findings.push_back(Describe(view, accounts, worst, caused_by_all, max_p_value));
}

}  // namespace eroica
