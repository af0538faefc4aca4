#include "diagnosis/spike/step_spikes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/statistics/peer_median.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kRelativeNoiseFloor = 0.002;  // of a step: what nobody can measure

// Ranks that are compared with each other.
struct Comparable {
  std::vector<RankIndex> ranks;
  bool lone = false;
};

double BusyNs(const StepRecord& step) {
  return static_cast<double>(std::max<int64_t>(0, step.duration_ns - step.peer_wait_ns));
}

// Most report the same steps; those of others are no rows of the same table.
void KeepSameSteps(const CrossRankView& view, std::vector<RankIndex>& ranks) {
  if (ranks.empty()) return;
  const std::vector<StepRecord>& typical = view.ranks()[ranks[ranks.size() / 2]].batch->steps;
  std::erase_if(ranks, [&](RankIndex rank) {
    return !std::ranges::equal(view.ranks()[rank].batch->steps, typical, {}, &StepRecord::id,
                               &StepRecord::id);
  });
}

// Whether the mean shows of a rank of the role that it is slow now and then: all others are not
// asked.
std::vector<bool> RolesWithSpikes(const CrossRankView& view, double min_share) {
  std::vector<bool> roles(view.role_count());
  for (const BusyTime& busy : view.busy_times()) {
    if (busy.slow_steps > 0 && 2 * busy.slow_steps <= busy.steps && busy.share() >= min_share)
      roles[busy.role] = true;
  }
  return roles;
}

// Of each role that is asked, and of those without peers.
std::vector<Comparable> ComparableRanks(const CrossRankView& view, double min_share) {
  const std::vector<bool> asked = RolesWithSpikes(view, min_share);
  std::vector<RankIndex> members(view.role_count());
  for (const RankView& rank : view.ranks()) members[rank.role] += rank.has_steps() ? 1 : 0;
  std::vector<Comparable> groups(view.role_count());
  Comparable lone{.lone = true};
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (!rank.has_steps()) continue;
    if (members[rank.role] == 1) {
      lone.ranks.push_back(i);
    } else if (asked[rank.role]) {
      groups[rank.role].ranks.push_back(i);
    }
  }
  groups.push_back(std::move(lone));
  for (Comparable& group : groups) KeepSameSteps(view, group.ranks);
  return groups;
}

// Busy time in the rank's usual one, less the median of the others' in the same step; and what that
// is above the usual.
struct Excess {
  double own = 0;
  double common = 0;
};

// Of ranks that report the same steps.
class StepTable {
 public:
  StepTable(const CrossRankView& view, const Comparable& compared, const StepSpikeOptions& options)
      : view_(view), compared_(compared) {
    for (const RankIndex rank : compared.ranks)
      usual_ns_.push_back(UsualNs(*view.ranks()[rank].batch));
    excess_.resize(view.ranks()[compared.ranks.front()].batch->steps.size());
    if (!is_told()) return;
    for (size_t s = 0; s < excess_.size(); ++s) excess_[s] = ExcessOf(s);
    spread_ = SpreadOf(excess_);
    least_ = std::max(options.min_separation * spread_, options.min_step_share);
    DropSharedSteps(std::max<size_t>(
        1, static_cast<size_t>(options.max_ranks * static_cast<double>(compared.ranks.size()))));
  }

  // Whether all ranks were busy in most steps.
  bool is_told() const { return std::ranges::min(usual_ns_) > 0; }

  // Of the r-th rank; no slow steps where it has none.
  StepSpike SpikeOf(size_t r) const {
    const RankView& rank = view_.ranks()[compared_.ranks[r]];
    StepSpike spike{.rank = compared_.ranks[r], .steps = static_cast<uint32_t>(excess_.size())};
    spike.others = static_cast<uint32_t>(compared_.ranks.size() - 1);
    spike.lone = compared_.lone;
    for (const std::vector<Excess>& of_step : excess_) {
      const double own = of_step[r].own;
      spike.at_end = IsSlow(of_step[r]) ? spike.at_end + 1 : 0;
      if (!IsSlow(of_step[r])) continue;
      ++spike.slow_steps;
      spike.excess_ns += own * usual_ns_[r] / static_cast<double>(spike.steps);
      spike.largest_ns = std::max(spike.largest_ns, own * usual_ns_[r]);
    }
    spike.step_ns = rank.step.duration_ns;
    spike.busy_ns = rank.step.busy_ns();
    spike.usual_ns = usual_ns_[r];
    spike.separation = spike.largest_ns / (spread_ * usual_ns_[r]);
    return spike;
  }

 private:
  static double UsualNs(const PatternBatch& batch) {
    std::vector<double> busy;
    for (const StepRecord& step : batch.steps) busy.push_back(BusyNs(step));
    return Median(std::span(busy));
  }

  std::vector<Excess> ExcessOf(size_t s) const {
    std::vector<double> busy(compared_.ranks.size());
    for (size_t r = 0; r < busy.size(); ++r)
      busy[r] = BusyNs(view_.ranks()[compared_.ranks[r]].batch->steps[s]) / usual_ns_[r];
    const PeerMedian others(busy);
    std::vector<Excess> excess;
    for (const double own : busy)
      excess.push_back({.own = own - others.Without(own), .common = others.Without(own) - 1});
    return excess;
  }

  static double SpreadOf(const std::vector<std::vector<Excess>>& excess) {
    std::vector<double> all;
    for (const std::vector<Excess>& of_step : excess) {
      std::ranges::transform(of_step, std::back_inserter(all), &Excess::own);
    }
    return std::max(kRelativeNoiseFloor, kSigmaPerMad * TakeMedianAndMad(std::span(all)).mad);
  }

  bool IsSlow(const Excess& excess) const {
    return excess.own >= least_ && 2 * excess.common < excess.own;
  }

  // What comes to many at once has one cause elsewhere: a group of them that waits in a collective
  // which never ends looks busy.
  void DropSharedSteps(size_t most_ranks) {
    for (std::vector<Excess>& of_step : excess_) {
      const auto slow = static_cast<size_t>(
          std::ranges::count_if(of_step, [this](const Excess& excess) { return IsSlow(excess); }));
      if (slow > most_ranks) std::ranges::fill(of_step, Excess{});
    }
  }

  const CrossRankView& view_;
  const Comparable& compared_;
  std::vector<double> usual_ns_;             // [rank]
  std::vector<std::vector<Excess>> excess_;  // [step][rank]
  double spread_ = kRelativeNoiseFloor;      // of one rank in one step
  double least_ = 0;                         // of a slow one
};

}  // namespace

std::vector<StepSpike> FindStepSpikes(const CrossRankView& view, const StepSpikeOptions& options) {
  std::vector<StepSpike> spikes;
  for (const Comparable& compared : ComparableRanks(view, options.min_share)) {
    if (compared.ranks.size() < (compared.lone ? options.min_lone : 2)) continue;
    if (view.ranks()[compared.ranks.front()].batch->steps.size() < options.min_steps) continue;
    const StepTable table(view, compared, options);
    for (size_t r = 0; r < compared.ranks.size() && table.is_told(); ++r) {
      const StepSpike spike = table.SpikeOf(r);
      if (spike.slow_steps == 0 || 2 * spike.slow_steps > spike.steps) continue;
      if (!compared.lone && spike.slow_steps > 1 && spike.at_end == spike.slow_steps) continue;
      if (spike.excess_ns >= options.min_share * spike.step_ns) spikes.push_back(spike);
    }
  }
  return spikes;
}

}  // namespace eroica
