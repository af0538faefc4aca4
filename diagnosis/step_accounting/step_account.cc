#include "diagnosis/step_accounting/step_account.h"

#include <algorithm>
#include <numeric>

#include "diagnosis/step_accounting/airport_share.h"
#include "diagnosis/step_accounting/late_excess.h"
#include "diagnosis/step_accounting/step_frontier.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {
namespace {

constexpr std::array<std::string_view, kAccountStageCount> kStageNames = {
    "data", "forward", "backward", "optimizer", "step"};

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
  AddExposed(row.rank[static_cast<size_t>(longest - row.duration_ns.begin())], kUnmarkedStage,
             *longest, account);
}

// What ranks make the job lose in a stage of a step. Ranks that are not listed are charged with
// nothing.
struct Charges {
  std::vector<RankIndex> rank;  // ascending
  std::vector<double> ns;
};

// Of one step after another, so that memory is asked for once.
class LossOfStep {
 public:
  explicit LossOfStep(const CrossRankView& view) : late_(view) {}

  void Look(const StepRow& row) {
    late_.Look(row);
    double lost = 0;
    for (size_t stage = 0; stage < kStepStageCount; ++stage) {
      Charge(row, stage);
      for (const double ns : charges_[stage].ns) lost += ns;
    }
    const auto waited = static_cast<double>(*std::ranges::max_element(row.peer_wait_ns));
    part_ = lost > waited ? waited / lost : 1;
  }

  const Charges& charges(size_t stage) const { return charges_[stage]; }
  // Of the charges: no more is lost than any rank waited.
  double part() const { return part_; }

 private:
  // Each is charged for its lateness over that of the latest at the stage's begin; together they
  // are charged for the largest.
  void Charge(const StepRow& row, size_t stage) {
    const double latest_at_begin = late_.most_lag_ns(stage);
    const std::span<const uint32_t> late = late_.late();
    const std::span<const double> late_ns = late_.late_ns(stage);
    Charges& charges = charges_[stage];
    charges.rank.resize(late.size() + 1);
    charges.ns.resize(late.size() + 1);
    size_t count = 0;
    for (size_t k = 0; k < late.size(); ++k) {
      const double own = late_ns[k] - latest_at_begin;
      charges.rank[count] = row.rank[late[k]];  // no branch: whether it stays is seen by the next
      charges.ns[count] = own;
      count += static_cast<size_t>(own > 0);
    }
    charges.rank.resize(count);
    charges.ns.resize(count);
    ShareAirport(charges.ns);
  }

  LateExcess late_;
  std::array<Charges, kStepStageCount> charges_;
  double part_ = 1;
};

size_t AccountStage(const StepRow& row, size_t stage) {
  return row.marked ? stage : kUnmarkedStage;
}

void AddLost(const StepRow& row, const LossOfStep& loss, StepAccount* account) {
  for (size_t stage = 0; stage < kStepStageCount; ++stage) {
    const size_t to = AccountStage(row, stage);
    const Charges& charges = loss.charges(stage);
    for (size_t i = 0; i < charges.rank.size(); ++i) {
      const double own = loss.part() * charges.ns[i];
      account->ranks[charges.rank[i]].lost_ns[to] += own;
      account->stage_lost_ns[to] += own;
      account->lost_ns += own;
    }
  }
}

}  // namespace

std::string_view StageName(size_t stage) {
  return stage < kStageNames.size() ? kStageNames[stage] : "unknown";
}

double RankAccount::lost() const { return std::accumulate(lost_ns.begin(), lost_ns.end(), 0.0); }

double StepAccount::LostPerStep(std::span<const RankId> culprits) const {
  if (steps == 0) return 0;
  double lost = 0;
  for (const RankAccount& rank : ranks) {
    if (std::find(culprits.begin(), culprits.end(), rank.rank) != culprits.end())
      lost += rank.lost();
  }
  return lost / steps;
}

StepAccount Account(const CrossRankView& view) {
  StepAccount account;
  for (const RankView& rank : view.ranks()) account.ranks.push_back({.rank = rank.rank});
  LossOfStep loss(view);
  for (const StepRow& row : LineUpSteps(view)) {
    ++account.steps;
    if (!row.marked) ++account.unmarked_steps;
    AddExposed(row, &account);
    loss.Look(row);
    AddLost(row, loss, &account);
  }
  return account;
}

namespace {

// The same of some ranks alone.
class LossOfRanks {
 public:
  LossOfRanks(const CrossRankView& view, std::span<const RankId> asked) : view_(view), loss_(view) {
    for (const RankId rank : asked) ranks_.push_back({.rank = rank});
  }

  // Whether the next is worth taking.
  bool Take(const StepRow& row) {
    ++steps_;
    marked_ = marked_ && row.marked;
    if (!marked_) return false;
    loss_.Look(row);
    for (RankAccount& account : ranks_) Add(row, account);
    return true;
  }

  std::optional<std::vector<double>> PerStep() const {
    if (steps_ == 0 || !marked_) return std::nullopt;
    std::vector<double> lost;
    for (const RankAccount& account : ranks_) lost.push_back(account.lost() / steps_);
    return lost;
  }

 private:
  void Add(const StepRow& row, RankAccount& account) const {
    const RankView* rank = view_.FindRank(account.rank);
    if (rank == nullptr) return;
    const auto position = static_cast<RankIndex>(rank - view_.ranks().data());
    for (size_t stage = 0; stage < kStepStageCount; ++stage) {
      const Charges& charges = loss_.charges(stage);
      const auto at = std::ranges::lower_bound(charges.rank, position);
      if (at == charges.rank.end() || *at != position) continue;
      account.lost_ns[AccountStage(row, stage)] +=
          loss_.part() * charges.ns[static_cast<size_t>(at - charges.rank.begin())];
    }
  }

  const CrossRankView& view_;
  LossOfStep loss_;
  std::vector<RankAccount> ranks_;
  uint32_t steps_ = 0;
  bool marked_ = true;
};

}  // namespace

std::optional<std::vector<double>> LostPerStep(const CrossRankView& view,
                                               std::span<const RankId> asked) {
  LossOfRanks of_same_steps(view, asked);
  if (VisitSteps(view, [&](const StepRow& row) { return of_same_steps.Take(row); }))
    return of_same_steps.PerStep();
  LossOfRanks loss(view, asked);
  for (const StepRow& row : LineUpSteps(view)) {
    if (!loss.Take(row)) break;
  }
  return loss.PerStep();
}

}  // namespace eroica
