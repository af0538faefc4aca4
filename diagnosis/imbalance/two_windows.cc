#include "diagnosis/imbalance/two_windows.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "diagnosis/distributions.h"
#include "diagnosis/lasting_excess.h"
#include "diagnosis/peer_median.h"
#include "diagnosis/robust_statistics.h"

namespace eroica {
namespace {

// Of the window before, of whose ranks these are the times; 0 where it is not known.
double StepsOf(const CrossRankView& view, const RankTimes& before) {
  const std::span<const PatternBatch> profiles = view.past().profiles;
  const auto profile = std::ranges::find_if(
      profiles, [&](const PatternBatch& one) { return one.window.index == before.window.index; });
  return profile == profiles.end() ? 0 : static_cast<double>(profile->steps.size());
}

// By rank, what it was late by in the mean step; 0 where it is not known.
std::vector<double> ExcessIn(const CrossRankView& view, const RankTimes& window) {
  std::vector<std::vector<double>> busy(view.role_count());
  std::vector<double> own(view.ranks().size(), -1);
  ForEachRankTime(NumbersOf(view.ranks()), window, [&](size_t i, const RankTime& row) {
    own[i] = row.busy_ns;
    busy[view.ranks()[i].role].push_back(row.busy_ns);
  });
  std::vector<PeerMedian> peers;
  for (const std::vector<double>& of_role : busy) peers.emplace_back(of_role);
  std::vector<double> excess(own.size(), 0);
  for (size_t i = 0; i < own.size(); ++i) {
    const PeerMedian& of_role = peers[view.ranks()[i].role];
    if (own[i] >= 0 && of_role.has_peers()) excess[i] = of_role.Over(own[i]);
  }
  return excess;
}

bool IsLateNow(const BusyTime& now, double max_chance) {
  constexpr double kMost = 0.75;
  return now.error_ns > 0 && now.chance <= std::sqrt(max_chance) &&
         now.slow_steps >= kMost * now.steps;
}

}  // namespace

std::vector<BusyTime> LateInTwoWindows(const CrossRankView& view, double max_chance) {
  const auto past =
      Uninterrupted(view.past().times, view.window_kind(), view.window_index(), view.world_size());
  const std::vector<BusyTime>& times = view.busy_times();
  if (past.empty() ||
      std::ranges::none_of(times, [&](const BusyTime& now) { return IsLateNow(now, max_chance); }))
    return {};
  const double steps_before = StepsOf(view, past.back());
  if (steps_before < 1) return {};
  const std::vector<double> before = ExcessIn(view, past.back());
  std::vector<BusyTime> late;
  for (const BusyTime& now : times) {
    const double before_ns = before[now.rank];
    if (!IsLateNow(now, max_chance) || 2 * before_ns < now.excess_ns ||
        2 * now.excess_ns < before_ns)
      continue;
    BusyTime both = now;
    both.steps += static_cast<uint32_t>(steps_before);
    both.slow_steps += static_cast<uint32_t>(steps_before);
    both.excess_ns = (now.steps * now.excess_ns + steps_before * before_ns) / both.steps;
    both.error_ns = now.error_ns * std::sqrt(static_cast<double>(now.steps) / both.steps);
    both.chance = StudentTail(both.excess_ns / both.error_ns, now.freedom);
    if (both.chance <= max_chance) late.push_back(both);
  }
  return late;
}

}  // namespace eroica
