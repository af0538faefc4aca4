#include "diagnosis/step_accounting/step_account.h"

#include <algorithm>
#include <array>
#include <utility>

#include "diagnosis/step_accounting/airport_share.h"
#include "diagnosis/step_accounting/late_excess.h"
#include "diagnosis/step_accounting/step_table.h"

namespace eroica {
namespace {

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

// Added up over steps, of the ranks asked for.
class LossOfRanks {
 public:
  LossOfRanks(const CrossRankView& view, std::span<const RankId> asked) : view_(view), loss_(view) {
    for (const RankId rank : asked) ranks_.push_back({rank, 0});
  }

  // Whether the next is worth taking.
  bool Take(const StepRow& row) {
    ++steps_;
    marked_ = marked_ && row.marked;
    const bool waits = std::ranges::any_of(row.peer_wait_ns, [](int64_t ns) { return ns > 0; });
    some_wait_ = some_wait_ || waits;
    all_wait_ = all_wait_ && waits;
    if (!IsTold()) return false;
    loss_.Look(row);
    for (auto& [rank, lost_ns] : ranks_) lost_ns += LostBy(rank);
    return true;
  }

  std::optional<std::vector<double>> PerStep() const {
    if (steps_ == 0 || !IsTold()) return std::nullopt;
    std::vector<double> lost;
    for (const auto& [rank, lost_ns] : ranks_) lost.push_back(lost_ns / steps_);
    return lost;
  }

 private:
  // Ranks that meet in some steps alone leave the others at different times: what one of these is
  // late by is waited for in a later step.
  bool IsTold() const { return marked_ && (all_wait_ || !some_wait_); }

  // In the step that was looked at last.
  double LostBy(RankId asked) const {
    const RankView* rank = view_.FindRank(asked);
    if (rank == nullptr) return 0;
    const auto position = static_cast<RankIndex>(rank - view_.ranks().data());
    double lost_ns = 0;
    for (size_t stage = 0; stage < kStepStageCount; ++stage) {
      const Charges& charges = loss_.charges(stage);
      const auto at = std::ranges::lower_bound(charges.rank, position);
      if (at != charges.rank.end() && *at == position)
        lost_ns += loss_.part() * charges.ns[static_cast<size_t>(at - charges.rank.begin())];
    }
    return lost_ns;
  }

  const CrossRankView& view_;
  LossOfStep loss_;
  std::vector<std::pair<RankId, double>> ranks_;  // lost ns
  uint32_t steps_ = 0;
  bool marked_ = true;
  bool some_wait_ = false;  // in some step some rank waited
  bool all_wait_ = true;    // in every step some rank waited
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
