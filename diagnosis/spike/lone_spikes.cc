#include "diagnosis/spike/lone_spikes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "diagnosis/peer_median.h"
#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

constexpr double kRelativeNoiseFloor = 0.002;  // of a step: what nobody can measure

std::vector<RankIndex> RanksWithoutPeers(const CrossRankView& view) {
  std::vector<RankIndex> members(view.role_count());
  for (const RankView& rank : view.ranks()) ++members[rank.role];
  std::vector<RankIndex> lone;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    if (members[view.ranks()[i].role] == 1 && view.ranks()[i].has_steps()) lone.push_back(i);
  }
  return lone;
}

bool HaveSameSteps(const CrossRankView& view, const std::vector<RankIndex>& ranks) {
  const std::vector<StepRecord>& first = view.ranks()[ranks.front()].batch->steps;
  return std::ranges::all_of(ranks, [&](RankIndex rank) {
    return std::ranges::equal(view.ranks()[rank].batch->steps, first, {}, &StepRecord::id, &StepRecord::id);
  });
}

double BusyNs(const StepRecord& step) { return static_cast<double>(std::max<int64_t>(0, step.duration_ns - step.peer_wait_ns)); }

double UsualNs(const PatternBatch& batch) {
  std::vector<double> busy;
  for (const StepRecord& step : batch.steps) busy.push_back(BusyNs(step));
  return Median(std::span(busy));
}

// Busy time in the rank's usual one, less the median of the others' in the same step; and what that is above the usual.
struct Excess {
  double own = 0;
  double common = 0;
};

// [step][rank]
std::vector<std::vector<Excess>> ExcessOf(const CrossRankView& view, const std::vector<RankIndex>& ranks,
                                          const std::vector<double>& usual_ns) {
  std::vector<std::vector<Excess>> excess(view.ranks()[ranks.front()].batch->steps.size());
  std::vector<double> busy(ranks.size());
  for (size_t s = 0; s < excess.size(); ++s) {
    for (size_t r = 0; r < ranks.size(); ++r) busy[r] = BusyNs(view.ranks()[ranks[r]].batch->steps[s]) / usual_ns[r];
    const PeerMedian others(busy);
    for (const double own : busy) excess[s].push_back({.own = own - others.Without(own), .common = others.Without(own) - 1});
  }
  return excess;
}

double SpreadOf(const std::vector<std::vector<Excess>>& excess) {
  std::vector<double> all;
  for (const std::vector<Excess>& of_step : excess) {
    for (const Excess& of_rank : of_step) all.push_back(of_rank.own);
  }
  return std::max(kRelativeNoiseFloor, kSigmaPerMad * TakeMedianAndMad(std::span(all)).mad);
}

}  // namespace

std::vector<LoneSpike> FindLoneSpikes(const CrossRankView& view, const LoneSpikeOptions& options) {
  const std::vector<RankIndex> ranks = RanksWithoutPeers(view);
  if (ranks.size() < options.min_ranks || !HaveSameSteps(view, ranks)) return {};
  std::vector<double> usual_ns;
  for (const RankIndex rank : ranks) usual_ns.push_back(UsualNs(*view.ranks()[rank].batch));
  if (std::ranges::min(usual_ns) <= 0) return {};
  const std::vector<std::vector<Excess>> excess = ExcessOf(view, ranks, usual_ns);
  if (excess.size() < options.min_steps) return {};
  const double spread = SpreadOf(excess);
  const double least = std::max(options.min_separation * spread, options.min_step_share);
  std::vector<LoneSpike> spikes;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankView& rank = view.ranks()[ranks[r]];
    LoneSpike spike{.rank = ranks[r], .steps = static_cast<uint32_t>(excess.size()), .others = static_cast<uint32_t>(ranks.size() - 1)};
    for (const std::vector<Excess>& of_step : excess) {
      const Excess& step = of_step[r];
      if (step.own < least || 2 * step.common >= step.own) continue;
      ++spike.slow_steps;
      spike.excess_ns += step.own * usual_ns[r] / static_cast<double>(spike.steps);
      spike.largest_ns = std::max(spike.largest_ns, step.own * usual_ns[r]);
    }
    if (spike.slow_steps == 0 || 2 * spike.slow_steps > spike.steps) continue;
    spike.step_ns = rank.step.duration_ns;
    spike.busy_ns = rank.step.busy_ns();
    spike.usual_ns = usual_ns[r];
    spike.separation = spike.largest_ns / (spread * usual_ns[r]);
    spikes.push_back(spike);
  }
  return spikes;
}

}  // namespace eroica
