#include "diagnosis/collective_wait/collective_wait_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "diagnosis/collective_wait/arrival_account.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/subkinds.h"

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

std::string Meanwhile(const ArrivalAccount& culprit) {
  if (culprit.blockers.empty()) return "what it ran meanwhile is not in the telemetry";
  const Blocker& blocker = culprit.blockers.front();
  return fmt::format("meanwhile it ran {} ({})", blocker.name,
                     DurationText(static_cast<double>(blocker.run_ns)));
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
  if (!culprit.blockers.empty()) {
    finding.function = culprit.blockers.front().name;
    finding.stack = culprit.blockers.front().stack;
    const FunctionColumn* column = view.FindFunction(culprit.blockers.front().function);
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
      DurationText(static_cast<double>(worst)), Meanwhile(culprit));
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
