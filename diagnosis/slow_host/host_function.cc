#include "diagnosis/slow_host/host_function.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/measurements/device_kernels.h"
#include "diagnosis/measurements/hidden_work.h"
#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/processor_shortage.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

// of a host's ranks, and of their steps (of one rank, half of them: an allocator may fail in every
// other)
constexpr double kMost = 0.75;
constexpr double kFew = 0.25;          // of the ranks elsewhere, and
constexpr double kFewAlone = 1.0 / 3;  // of ranks without peers, of which there are few
constexpr double kLong = 0.05;         // of a step
constexpr double kAsLong = 0.75;

double FewOf(std::span<const HostRanks> hosts) {
  return hosts.front().ranks.size() == 1 ? kFewAlone : kFew;
}

bool MayBeCause(const FunctionPattern& pattern) {
  return RunsOnThread(pattern.function_class) && !IsSymptom(pattern);
}

// What it takes of a step of each rank, by position in the view; 0 where a rank does not run it.
std::vector<double> TimesOf(const CrossRankView& view, const FunctionColumn& column) {
  std::vector<double> ns(view.ranks().size(), 0);
  for (size_t i = 0; i < column.size(); ++i)
    ns[column.rank[i]] = PerStep(view.ranks()[column.rank[i]].step, column.critical_ns[i]);
  return ns;
}

size_t CountAbove(std::span<const double> times, double value) {
  return static_cast<size_t>(
      std::ranges::count_if(times, [value](double ns) { return ns > value; }));
}

// One function over all ranks.
struct TimesOfRanks {
  // a step, by position in the view; 0 where a rank does not run it, or in less than `min_steps` of
  // its steps
  std::vector<double> ns;
  std::vector<double> all;      // all that it takes, by position
  std::vector<double> ordered;  // the same, ascending

  TimesOfRanks(const CrossRankView& view, const FunctionColumn& column, std::vector<double> times,
               double min_steps)
      : ns(times), all(times), ordered(std::move(times)) {
    for (size_t i = 0; i < column.size(); ++i) {
      const RankIndex rank = column.rank[i];
      if (column.pattern[i]->active_steps < min_steps * view.ranks()[rank].step.steps) ns[rank] = 0;
    }
    std::ranges::sort(ordered);
  }
  size_t CountAbove(double value) const {
    return static_cast<size_t>(ordered.end() - std::ranges::upper_bound(ordered, value));
  }
};

std::vector<double> On(const HostRanks& host, const std::vector<double>& times) {
  std::vector<double> own;
  own.reserve(host.ranks.size());
  for (const RankIndex rank : host.ranks) own.push_back(times[rank]);
  std::ranges::sort(own);
  return own;
}

// What all but a few of the host's ranks take.
double MostTake(const std::vector<double>& own) {
  return own[static_cast<size_t>((1 - kMost) * static_cast<double>(own.size()))];
}

// Most functions take every rank as long as any other, so that no host has one of its own: seen at
// one look, which takes the longest of all ranks for what most of a host take, or else at what they
// do.
bool MayBeOfAHost(std::span<const HostRanks> hosts, const std::vector<double>& times) {
  const auto ranks_of = [](const HostRanks& host) { return host.ranks.size(); };
  const auto most = static_cast<double>(ranks_of(*std::ranges::max_element(hosts, {}, ranks_of))) +
                    FewOf(hosts) * static_cast<double>(times.size());
  const auto few_take_half = [&](double take) {
    return static_cast<double>(CountAbove(times, kHalf * take)) <= most;
  };
  if (!few_take_half(*std::ranges::max_element(times))) return false;
  double most_take = 0;
  for (const HostRanks& host : hosts) most_take = std::max(most_take, MostTake(On(host, times)));
  return few_take_half(most_take);
}

std::vector<double> Elsewhere(const HostRanks& host, const std::vector<double>& times) {
  std::vector<double> others;
  for (RankIndex i = 0; i < times.size(); ++i) {
    if (!std::ranges::binary_search(host.ranks, i)) others.push_back(times[i]);
  }
  return others;
}

std::optional<double> CpuShare(const HostRanks& host, const FunctionColumn& column) {
  std::vector<double> own;
  std::vector<double> others;
  for (size_t i = 0; i < column.size(); ++i) {
    const FunctionPattern& pattern = *column.pattern[i];
    if (pattern.resource != Resource::kCpu || pattern.resource_samples == 0) continue;
    (std::ranges::binary_search(host.ranks, column.rank[i]) ? own : others).push_back(pattern.mu);
  }
  if (own.empty() || others.empty()) return std::nullopt;
  const double usual = Median(std::span(others));
  return usual > 0 ? std::optional(Median(std::span(own)) / usual) : std::nullopt;
}

// Where all ranks wait for processors there are too few, and it is chance which one waits longest.
bool IsChanceOfShortage(const HostRanks& host, const HostFunction& function) {
  return host.ranks.size() == 1 && function.column->sample->name.starts_with(kWaitForProcessor) &&
         function.others_ns >= kShareOfShortage * host.step_ns;
}

// Nothing where the host's ranks do not spend their steps in it, or others do.
std::optional<HostFunction> Compare(const HostRanks& host, const FunctionColumn& column,
                                    const TimesOfRanks& times, double min_share) {
  const std::vector<double> own = On(host, times.ns);
  const double most_take = MostTake(own);
  if (most_take < min_share * host.step_ns || most_take <= 0) return std::nullopt;
  const double limit = kHalf * most_take;
  const auto here = static_cast<size_t>(own.end() - std::ranges::upper_bound(own, limit));
  const size_t elsewhere = times.ns.size() - own.size();
  if (static_cast<double>(times.CountAbove(limit) - here) >
      FewOf({&host, 1}) * static_cast<double>(elsewhere))
    return std::nullopt;
  HostFunction function{
      .column = &column, .ranks = static_cast<uint32_t>(here), .cpu_share = CpuShare(host, column)};
  // Of ranks alone there are few others, and few samples of each say in how many steps they run it.
  std::vector<double> others = Elsewhere(host, host.ranks.size() == 1 ? times.all : times.ns);
  if (!others.empty()) function.most_ns = std::ranges::max(others);
  function.others_ns = Median(std::span(others));
  function.own_ns = own[own.size() / 2];
  if (function.excess_ns() < min_share * host.step_ns || IsChanceOfShortage(host, function))
    return std::nullopt;
  return function;
}

// Of the ranks elsewhere that have a role of the host's, if there are any: most do not spend half
// as much in it.
bool RolesElsewhereDoNot(const CrossRankView& view, const HostRanks& host,
                         const std::set<uint32_t>& roles, const HostFunction& function) {
  size_t others = 0;
  size_t spend = 0;
  const std::vector<RankIndex>& runners = function.column->rank;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (rank.silent || rank.batch->host == host.name || !roles.contains(rank.role)) continue;
    ++others;
    const auto at = std::ranges::lower_bound(runners, i);
    if (at == runners.end() || *at != i) continue;
    const double ns =
        PerStep(rank.step, function.column->critical_ns[static_cast<size_t>(at - runners.begin())]);
    spend += ns >= kHalf * function.own_ns ? 1 : 0;
  }
  return others > 0 && static_cast<double>(spend) <= kFew * static_cast<double>(others);
}

// Whoever computes keeps a processor busy.
bool RatherWaits(const HostRanks& host, const FunctionColumn& column) {
  constexpr double kIdle = 0.25;
  if (column.sample->wait == WaitKind::kOther) return true;
  std::vector<double> use;
  for (size_t i = 0; i < column.size(); ++i) {
    const FunctionPattern& pattern = *column.pattern[i];
    const bool sampled = pattern.resource == Resource::kCpu && pattern.resource_samples > 0;
    if (sampled && std::ranges::binary_search(host.ranks, column.rank[i]))
      use.push_back(pattern.mu);
  }
  return !use.empty() && Median(std::span(use)) <= kIdle;
}

// Whether ranks elsewhere run it for as long, and nobody waits for them: a receive does, for the
// first stage. Then it is everybody's.
bool RunsHiddenElsewhere(const CrossRankView& view, const HostRanks& host,
                         const HostFunction& function) {
  std::vector<double> own;
  for (const RankIndex rank : host.ranks)
    own.push_back(RunsForNs(view.ranks()[rank], function.column->function));
  const double limit = kAsLong * Median(std::span(own));
  size_t others = 0;
  size_t run = 0;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    if (view.ranks()[i].silent || std::ranges::binary_search(host.ranks, i)) continue;
    ++others;
    run += RunsForNs(view.ranks()[i], function.column->function) >= limit ? 1 : 0;
  }
  return limit > 0 && static_cast<double>(run) > FewOf({&host, 1}) * static_cast<double>(others);
}

// The oldest window that is remembered of the job at this size knew less of it by half.
bool IsNew(const CrossRankView& view, const HostFunction& function) {
  const auto of_this_size = [&](const PatternBatch& profile) {
    return profile.world_size == view.profile().world_size;
  };
  const auto oldest = std::ranges::find_if(view.past().profiles, of_this_size);
  return oldest != view.past().profiles.end() &&
         FunctionNsOf(*oldest, function.column->function) <= kHalf * function.own_ns;
}

}  // namespace

std::vector<std::optional<HostFunction>> FindHostFunctions(const CrossRankView& view,
                                                           std::span<const HostRanks> hosts,
                                                           double min_share) {
  std::vector<std::optional<HostFunction>> found(hosts.size());
  const double shortest = std::ranges::min_element(hosts, {}, &HostRanks::step_ns)->step_ns;
  for (const FunctionColumn& column : view.functions()) {
    if (!MayBeCause(*column.sample) || *std::ranges::max_element(column.beta) < kHalf * min_share)
      continue;  // far from enough anywhere
    std::vector<double> takes = TimesOf(view, column);
    if (*std::ranges::max_element(takes) < min_share * shortest || !MayBeOfAHost(hosts, takes))
      continue;
    const TimesOfRanks times(view, column, std::move(takes),
                             hosts.front().ranks.size() == 1 ? kHalf : kMost);
    for (size_t h = 0; h < hosts.size(); ++h) {
      const std::optional<HostFunction> function = Compare(hosts[h], column, times, min_share);
      if (function && (!found[h] || function->excess_ns() > found[h]->excess_ns()))
        found[h] = function;
    }
  }
  return found;
}

bool IsOfHost(const CrossRankView& view, const HostRanks& host, const HostFunction& function) {
  if (RunsHiddenElsewhere(view, host, function)) return false;
  std::set<uint32_t> roles;
  for (const RankIndex rank : host.ranks) roles.insert(view.ranks()[rank].role);
  if (RolesElsewhereDoNot(view, host, roles, function) || function.cpu_share.value_or(1) <= kHalf)
    return true;
  const bool alone = host.ranks.size() == 1;
  if (alone && IsNew(view, function)) return true;  // no code of a stage changes while it runs
  const bool is_long = function.excess_ns() >= kLong * host.step_ns;
  if (alone && is_long && ComputesOnDevice(*view.ranks()[host.ranks.front()].batch)) return true;
  return RatherWaits(host, *function.column) &&
         (is_long || roles.size() >= 2 || IsNew(view, function));
}

}  // namespace eroica
