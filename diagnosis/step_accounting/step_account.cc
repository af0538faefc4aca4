#include "diagnosis/step_accounting/step_account.h"

#include <algorithm>
#include <numeric>

#include "diagnosis/step_accounting/airport_share.h"
#include "diagnosis/step_accounting/late_excess.h"
#include "diagnosis/step_accounting/step_frontier.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {
namespace {

constexpr std::array<std::string_view, kAccountStageCount> kStageNames = {"data", "forward", "backward", "optimizer", "step"};

void AddExposed(RankIndex leader, size_t stage, int64_t increment_ns, StepAccount* account) {
  account->exposed_ns += increment_ns;
  account->stage_ns[stage] += increment_ns;
  account->ranks[leader].led_ns[stage] += increment_ns;
  ++account->ranks[leader].led_steps[stage];
}

void AddExposed(const StepRow& row, StepAccount* account) {
  if (row.marked) {
    const StepFrontier frontier = FrontierOf(row);
    for (size_t stage = 0; stage < frontier.size(); ++stage)
      AddExposed(frontier[stage].leader, stage, frontier[stage].increment_ns, account);
    return;
  }
  const auto longest = std::ranges::max_element(row.duration_ns);
  AddExposed(row.rank[static_cast<size_t>(longest - row.duration_ns.begin())], kUnmarkedStage, *longest, account);
}

// What ranks make the job lose in a stage.
struct Charges {
  std::vector<RankIndex> rank;
  std::vector<double> ns;
};

// Each is charged for its lateness over that of the latest at the stage's begin; together they are charged for the largest.
Charges ChargesOf(const StepRow& row, const LateExcess& late, size_t stage) {
  const std::vector<double>& lag_ns = late.lag_ns[stage];
  const double latest_at_begin = *std::ranges::max_element(lag_ns);
  Charges charges;
  for (size_t i = 0; i < row.size(); ++i) {
    const double own = lag_ns[i] + late.excess_ns[stage][i] - latest_at_begin;
    if (own <= 0) continue;
    charges.rank.push_back(row.rank[i]);
    charges.ns.push_back(own);
  }
  ShareAirport(charges.ns);
  return charges;
}

void AddLost(const CrossRankView& view, const StepRow& row, StepAccount* account) {
  const LateExcess late = LateExcessOf(view, row);
  std::array<Charges, kStepStageCount> charges;
  double lost = 0;
  for (size_t stage = 0; stage < kStepStageCount; ++stage) {
    charges[stage] = ChargesOf(row, late, stage);
    for (const double ns : charges[stage].ns) lost += ns;
  }
  const auto waited = static_cast<double>(*std::ranges::max_element(row.peer_wait_ns));
  const double part = lost > waited ? waited / lost : 1;
  for (size_t stage = 0; stage < kStepStageCount; ++stage) {
    const size_t to = row.marked ? stage : kUnmarkedStage;
    for (size_t i = 0; i < charges[stage].rank.size(); ++i) {
      const double own = part * charges[stage].ns[i];
      account->ranks[charges[stage].rank[i]].lost_ns[to] += own;
      account->stage_lost_ns[to] += own;
      account->lost_ns += own;
    }
  }
}

}  // namespace

std::string_view StageName(size_t stage) { return stage < kStageNames.size() ? kStageNames[stage] : "unknown"; }

double RankAccount::lost() const { return std::accumulate(lost_ns.begin(), lost_ns.end(), 0.0); }

double StepAccount::LostPerStep(std::span<const RankId> culprits) const {
  if (steps == 0) return 0;
  double lost = 0;
  for (const RankAccount& rank : ranks) {
    if (std::find(culprits.begin(), culprits.end(), rank.rank) != culprits.end()) lost += rank.lost();
  }
  return lost / steps;
}

StepAccount Account(const CrossRankView& view) { return Account(view, LineUpSteps(view)); }

StepAccount Account(const CrossRankView& view, std::span<const StepRow> rows) {
  StepAccount account;
  for (const RankView& rank : view.ranks()) account.ranks.push_back({.rank = rank.rank});
  for (const StepRow& row : rows) {
    ++account.steps;
    if (!row.marked) ++account.unmarked_steps;
    AddExposed(row, &account);
    AddLost(view, row, &account);
  }
  return account;
}

}  // namespace eroica
