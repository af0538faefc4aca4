#include "diagnosis/imbalance/varying_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/statistics/distributions.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

double BusyNs(const StepRecord& step) {
  return static_cast<double>(step.duration_ns - step.peer_wait_ns);
}

// Ranks of one role that report the same steps.
std::vector<std::vector<RankIndex>> RolesOf(const CrossRankView& view) {
  std::vector<std::vector<RankIndex>> roles(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (!rank.has_steps()) continue;
    std::vector<RankIndex>& role = roles[rank.role];
    const auto& steps = rank.batch->steps;
    if (role.empty() || std::ranges::equal(steps, view.ranks()[role.front()].batch->steps, {},
                                           &StepRecord::id, &StepRecord::id))
      role.push_back(i);
  }
  std::erase_if(roles, [](const auto& role) { return role.size() < 2; });
  return roles;
}

// By how much a rank is busier than the median of its role in each step, less what it is so on the
// average: [rank of the role][step].
std::vector<std::vector<double>> ResidualsOf(const CrossRankView& view,
                                             const std::vector<RankIndex>& role, size_t steps) {
  std::vector<std::vector<double>> residuals(role.size(), std::vector<double>(steps));
  for (size_t s = 0; s < steps; ++s) {
    std::vector<double> busy;
    for (const RankIndex rank : role) busy.push_back(BusyNs(view.ranks()[rank].batch->steps[s]));
    const std::vector<double> own = busy;
    const double common = Median(std::span(busy));
    for (size_t r = 0; r < role.size(); ++r) residuals[r][s] = own[r] - common;
  }
  for (std::vector<double>& of_rank : residuals) {
    const double mean =
        std::accumulate(of_rank.begin(), of_rank.end(), 0.0) / static_cast<double>(steps);
    for (double& value : of_rank) value -= mean;
  }
  return residuals;
}

// What the slowest rank of each step costs, whoever it is.
struct SlowestRanks {
  explicit SlowestRanks(size_t steps) : excess_ns(steps, 0), rank(steps, 0) {}
  std::vector<double> excess_ns;  // by step
  std::vector<RankIndex> rank;    // likewise

  void Add(const std::vector<RankIndex>& role, const std::vector<std::vector<double>>& residuals) {
    for (size_t r = 0; r < role.size(); ++r) {
      for (size_t s = 0; s < excess_ns.size(); ++s) {
        if (residuals[r][s] <= excess_ns[s]) continue;
        excess_ns[s] = residuals[r][s];
        rank[s] = role[r];
      }
    }
  }
  double all_ns() const { return std::accumulate(excess_ns.begin(), excess_ns.end(), 0.0); }
  double most_of_one_ns(size_t ranks) const {
    std::vector<double> of_rank(ranks, 0);
    for (size_t s = 0; s < rank.size(); ++s) of_rank[rank[s]] += excess_ns[s];
    return *std::ranges::max_element(of_rank);
  }
  uint32_t different(size_t ranks) const {
    std::vector<bool> seen(ranks, false);
    for (const RankIndex slowest : rank) seen[slowest] = true;
    return static_cast<uint32_t>(std::ranges::count(seen, true));
  }
};

// By position in the view: a value of each rank less the median of its role; NaN where not known.
std::vector<double> OverPeers(const CrossRankView& view, const RankTimes& window) {
  std::vector<double> own(view.ranks().size(), std::nan(""));
  std::vector<std::vector<double>> of_role(view.role_count());
  ForEachRankTime(NumbersOf(view.ranks()), window, [&](size_t i, const RankTime& row) {
    own[i] = row.busy_ns;
    of_role[view.ranks()[i].role].push_back(own[i]);
  });
  std::vector<double> medians;
  for (std::vector<double>& values : of_role) medians.push_back(Median(std::span(values)));
  for (size_t i = 0; i < own.size(); ++i) own[i] -= medians[view.ranks()[i].role];
  return own;
}

struct Line {
  double explained = 0;
  double p_value = 1;
  uint32_t ranks = 0;
};

// Through the ranks of which both are known; explains nothing where the one falls as the other
// rises.
Line LineThrough(std::span<const double> xs, std::span<const double> ys) {
  double xx = 0;
  double yy = 0;
  double xy = 0;
  Line line;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (std::isnan(xs[i]) || std::isnan(ys[i])) continue;
    ++line.ranks;
    xx += xs[i] * xs[i];
    yy += ys[i] * ys[i];
    xy += xs[i] * ys[i];
  }
  if (xx <= 0 || yy <= 0 || xy <= 0 || line.ranks < 3) return line;
  const double freedom = line.ranks - 2;
  line.explained = std::min(1.0, xy * xy / (xx * yy));
  line.p_value = StudentTail(
      std::sqrt(line.explained * freedom / std::max(1e-9, 1 - line.explained)), freedom);
  return line;
}

// By position in the view: how much longer the rank's clock and use make its kernels than those of
// its role; NaN where it is not sampled.
std::vector<double> SlownessOfClocks(const CrossRankView& view) {
  struct Samples {
    double clock_ns = 0;
    double ns = 0;
  };
  std::vector<Samples> samples(view.ranks().size());
  for (const FunctionColumn& column : view.functions()) {
    for (size_t i = 0; i < column.size(); ++i) {
      const FunctionPattern& pattern = *column.pattern[i];
      if (pattern.resource != Resource::kGpuSm || pattern.resource_samples == 0) continue;
      Samples& of_rank = samples[column.rank[i]];
      of_rank.clock_ns += pattern.mu * static_cast<double>(pattern.critical_ns);
      of_rank.ns += static_cast<double>(pattern.critical_ns);
    }
  }
  std::vector<double> slowness(samples.size(), std::nan(""));
  std::vector<std::vector<double>> of_role(view.role_count());
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].clock_ns <= 0) continue;
    slowness[i] = samples[i].ns / samples[i].clock_ns;
    of_role[view.ranks()[i].role].push_back(slowness[i]);
  }
  std::vector<double> medians;
  for (std::vector<double>& values : of_role) medians.push_back(Median(std::span(values)));
  for (size_t i = 0; i < slowness.size(); ++i) slowness[i] -= medians[view.ranks()[i].role];
  return slowness;
}

std::vector<double> Minus(std::vector<double> now, std::span<const double> before) {
  for (size_t i = 0; i < now.size(); ++i) now[i] -= before[i];
  return now;
}

const RankTimes* Before(const CrossRankView& view, std::span<const RankTimes> past) {
  const auto windows =
      Uninterrupted(past, view.window_kind(), view.window_index(), view.world_size());
  return windows.empty() ? nullptr : &windows.back();
}

}  // namespace

std::optional<VaryingWork> FindVaryingWork(const CrossRankView& view,
                                           const VaryingWorkOptions& options) {
  const RankTimes* busy_before = Before(view, view.past().times);
  const RankTimes* work_before = Before(view, view.past().work);
  if (busy_before == nullptr || work_before == nullptr || view.work_times().rows.empty())
    return std::nullopt;
  // First what takes a look at a few bytes of each rank: mostly nothing else needs to be read.
  const Line line =
      LineThrough(Minus(OverPeers(view, view.work_times()), OverPeers(view, *work_before)),
                  Minus(OverPeers(view, view.rank_times()), OverPeers(view, *busy_before)));
  if (line.ranks < options.min_ranks || line.p_value > options.max_p_value) return std::nullopt;
  const Line by_clock = LineThrough(SlownessOfClocks(view), OverPeers(view, view.work_times()));
  if (by_clock.explained > options.max_of_clock) return std::nullopt;
  const std::vector<std::vector<RankIndex>> roles = RolesOf(view);
  if (roles.empty()) return std::nullopt;
  const RankView& first = view.ranks()[roles.front().front()];
  const size_t steps = first.batch->steps.size();
  if (steps < options.min_steps) return std::nullopt;
  SlowestRanks slowest(steps);
  for (const std::vector<RankIndex>& role : roles) {
    if (view.ranks()[role.front()].batch->steps.size() == steps)
      slowest.Add(role, ResidualsOf(view, role, steps));
  }
  // Means are of the same few steps, so that what is left of a step is less than it was.
  const double shrunk = std::sqrt(static_cast<double>(steps - 1) / static_cast<double>(steps));
  const VaryingWork work{
      .cost_ns = line.explained * slowest.all_ns() / static_cast<double>(steps) / shrunk,
      .step_ns = first.step.duration_ns,
      .explained = line.explained,
      .p_value = line.p_value,
      .slowest = slowest.different(view.ranks().size()),
      .steps = static_cast<uint32_t>(steps),
      .ranks = line.ranks};
  if (work.cost_ns < options.min_share * work.step_ns ||
      slowest.most_of_one_ns(view.ranks().size()) > options.max_of_one * slowest.all_ns())
    return std::nullopt;
  return work;
}

}  // namespace eroica
