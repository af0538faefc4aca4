#include "diagnosis/slow_host/slow_host_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/stack_frames.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

// Whether nobody elsewhere has a role of the host's.
bool HasStagesOfItsOwn(const CrossRankView& view, const HostRanks& host) {
  std::set<uint32_t> roles;
  for (const RankIndex rank : host.ranks) roles.insert(view.ranks()[rank].role);
  size_t members = 0;
  for (const RankView& rank : view.ranks()) members += roles.contains(rank.role) ? 1 : 0;
  return members == host.ranks.size();
}

// All stages see the same inputs, so that what makes one of them longer than the others is there in
// every step.
DeviceCauses CausesOf(const CrossRankView& view, const HostRanks& host,
                      const HostDevices& devices) {
  KernelChanges changes = devices.changes(host.ranks.size());
  if (HasStagesOfItsOwn(view, host)) changes.slow_share = 1;
  return DeviceCauses(changes);
}

uint64_t FewestSteps(const CrossRankView& view, const HostRanks& host) {
  size_t fewest = view.ranks()[host.ranks.front()].batch->steps.size();
  for (const RankIndex rank : host.ranks)
    fewest = std::min(fewest, view.ranks()[rank].batch->steps.size());
  return fewest;
}

// Of the steps of the host's ranks that run the function.
uint64_t FewestActive(const HostRanks& host, const FunctionColumn& column) {
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  for (size_t i = 0; i < column.size(); ++i) {
    if (std::ranges::binary_search(host.ranks, column.rank[i]))
      fewest = std::min<uint64_t>(fewest, column.pattern[i]->active_steps);
  }
  return fewest;
}

// All others that waited: at most their own waiting, and at most what the host took longer.
std::vector<Victim> VictimsOf(const CrossRankView& view, const HostRanks& host, double lost_ns) {
  std::vector<Victim> victims;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (std::ranges::binary_search(host.ranks, i) || rank.silent) continue;
    const double lost = std::min(rank.step.wait_ns, lost_ns);
    if (lost > 0)
      victims.push_back({.rank = rank.rank,
                         .lost_ns = static_cast<int64_t>(lost * rank.step.steps),
                         .lost_ns_per_step = lost});
  }
  return victims;
}

Finding Begin(const CrossRankView& view, const HostRanks& host, double lost_ns) {
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = kWholeHost;
  for (const RankIndex rank : host.ranks) finding.culprits.push_back(CulpritOf(view.ranks()[rank]));
  finding.victims = VictimsOf(view, host, lost_ns);
  finding.lost_ns_per_step = lost_ns;
  const PatternBatch& first = *view.ranks()[host.ranks.front()].batch;
  finding.first_step = first.steps.front().id;
  finding.last_step = first.steps.back().id;
  return finding;
}

// In how many windows sampled stacks must show the function. A few samples of one window are noise;
// those of several exceed it, as errors add up as the root of the number of windows.
double WindowsToBeSeenIn(const CrossRankView& view, const HostRanks& host,
                         const HostFunction& function) {
  constexpr double kFewest = 3;
  constexpr double kNever = 1e6;
  if (!IsSeenInStacks(*function.column->sample)) return 1;
  double windows = 1;
  for (const RankIndex rank : host.ranks) {
    const PatternBatch& batch = *view.ranks()[rank].batch;
    const auto steps = static_cast<double>(batch.steps.size());
    const double errors =
        SamplingErrorsBetween(function.own_ns * steps, function.others_ns * steps, SampleNs(batch));
    if (errors >= kSamplingErrors) continue;
    const double times = kSamplingErrors / std::max(errors, 1e-3);
    windows = std::max(windows, std::clamp(std::ceil(times * times), kFewest, kNever));
  }
  return windows;
}

// Built-in functions are no place in anybody's source: the frame that calls them is
// (cause_function.h).
void NameFunction(const FunctionPattern& pattern, Finding& finding) {
  std::vector<std::string_view> frames = FramesOf(pattern);
  while (frames.size() > 1 && IsBuiltin(frames.back())) frames.pop_back();
  finding.function = frames.back();
  frames.pop_back();
  for (const std::string_view frame : frames) {
    if (!finding.stack.empty()) finding.stack += kStackSeparator;
    finding.stack += frame;
  }
  finding.function_class = pattern.function_class;
}

// What was said of a host, said of a rank that nobody shares a role with.
Finding OfLoneRank(const CrossRankView& view, const HostRanks& alone, Finding finding,
                   const HostFunction* function = nullptr) {
  const RankView& rank = view.ranks()[alone.ranks.front()];
  const bool device = finding.function_class == FunctionClass::kGpuCompute;
  finding.subkind = device ? std::string(kWholeRank) : "function";
  std::erase_if(finding.evidence,
                [](const Measure& measure) { return measure.name == "slow_ranks"; });
  const double step_ns = alone.step_ns;
  finding.title =
      fmt::format("Rank {}, which has no peers, holds the others up by {} a step ({} of {}): {}.",
                  rank.rank.value, DurationText(finding.lost_ns_per_step),
                  PercentText(finding.lost_ns_per_step / step_ns), DurationText(step_ns),
                  device ? "single calls of its kernels take longer than on all other ranks"
                         : fmt::format("it runs {}, and hardly anybody else", finding.function));
  if (function != nullptr)
    finding.explanation = fmt::format(
        "It does in most steps, for {} each, and no other rank for more than {} (median {}).",
        DurationText(function->own_ns), DurationText(function->most_ns),
        DurationText(function->others_ns));
  finding.suggested_action =
      device ? fmt::format("Look at clock, power limit and temperature of the device of {}.",
                           PlaceOf(rank))
             : fmt::format("Look at {} on {}: only this rank spends its steps there.",
                           finding.function, PlaceOf(rank));
  return finding;
}

// What is wrong with the devices of a host.
std::string WhyOf(const HostDevices& devices, std::optional<DeviceCause> cause) {
  if (cause == DeviceCause::kLowClock)
    return fmt::format(
        "Its SM clock and use lie {} below those of the other hosts: that is the cause",
        PercentText(-devices.clock_growth));
  if (cause == DeviceCause::kPauses)
    return fmt::format(
        "The median call takes {} longer, so that most are as fast as ever and some much longer: "
        "its devices pause now and then",
        PercentText(std::max(0.0, devices.typical)));
  if (cause == DeviceCause::kSlowMemory)
    return "What memory bounds takes longer, what arithmetic bounds does not: its devices' memory "
           "is slower";
  constexpr double kLeast = 0.01;
  const double optimizer = devices.by_bound.parameters(0).value_or(Change()).value;
  const std::string no_inputs =
      optimizer < kLeast ? ""
                         : fmt::format(
                               "The optimizer takes {} longer, too, so that it is not the "
                               "inputs; ",
                               PercentText(optimizer));
  return fmt::format(
      "{}{}hether the devices run at a lower clock or share power with somebody is undecided, as "
      "{}",
      no_inputs, no_inputs.empty() ? "W" : "w",
      devices.has_clock ? "a stage that is busier hides its clock" : "no clock was recorded");
}

}  // namespace

void SlowHostOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size())
    return;
  EvaluateHosts(view, findings);
  EvaluateLoneRanks(view, findings);
  EvaluateChanges(view, findings);
}

void SlowHostOperator::EvaluateHosts(const CrossRankView& view,
                                     std::vector<Finding>& findings) const {
  const std::vector<HostRanks>& hosts = view.hosts();
  if (!CanCompareHosts(hosts)) return;
  const auto devices = CompareHostDevices(view, hosts, options_.min_growth);
  const auto functions = FindHostFunctions(view, hosts, options_.min_share);
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (FewestSteps(view, hosts[h]) < options_.min_steps) continue;
    if (devices[h] && IsSlow(view, hosts[h], *devices[h]))
      findings.push_back(Describe(view, hosts[h], *devices[h]));
    if (functions[h] && IsOfHost(view, hosts[h], *functions[h]))
      findings.push_back(Describe(view, hosts[h], *functions[h]));
  }
}

void SlowHostOperator::EvaluateLoneRanks(const CrossRankView& view,
                                         std::vector<Finding>& findings) const {
  const std::vector<HostRanks> ranks = LoneRanksOf(view);
  if (ranks.size() < options_.fewest_alone) return;
  const auto devices = CompareHostDevices(view, ranks, options_.min_growth_alone);
  const auto functions = FindHostFunctions(view, ranks, options_.min_share);
  const auto copies = FindSlowCopies(view, ranks);
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (FewestSteps(view, ranks[r]) < options_.min_steps) continue;
    if (devices[r] && IsSlow(view, ranks[r], *devices[r]))
      findings.push_back(OfLoneRank(view, ranks[r], Describe(view, ranks[r], *devices[r])));
    if (functions[r] && IsOfHost(view, ranks[r], *functions[r]))
      findings.push_back(
          OfLoneRank(view, ranks[r], Describe(view, ranks[r], *functions[r]), &*functions[r]));
    if (copies[r] && copies[r]->excess_ns() >= options_.min_share * ranks[r].step_ns)
      findings.push_back(Describe(view, ranks[r], *copies[r]));
  }
}

void SlowHostOperator::EvaluateChanges(const CrossRankView& view,
                                       std::vector<Finding>& findings) const {
  const std::vector<Place> places = PlacesWithoutPeers(view);
  if (places.empty()) return;
  const auto past =
      Uninterrupted(view.past().times, view.window_kind(), view.window_index(), view.world_size());
  const std::vector<std::optional<DeviceChange>> changes = CompareWithPast(view, places, past);
  for (size_t p = 0; p < places.size(); ++p) {
    const HostRanks& ranks = places[p].ranks;
    if (!changes[p] || FewestSteps(view, ranks) < options_.min_steps ||
        !HasSlowed(ranks, *changes[p]))
      continue;
    const auto is_told = [&](const Finding& finding) {
      return finding.function_class == FunctionClass::kGpuCompute &&
             finding.culprits.front().rank == CulpritOf(view.ranks()[ranks.ranks.front()]).rank;
    };
    if (std::ranges::none_of(findings, is_told))
      findings.push_back(Describe(view, places[p], *changes[p]));
  }
}

bool SlowHostOperator::HasSlowed(const HostRanks& ranks, const DeviceChange& change) const {
  const double least_growth =
      std::max({options_.min_growth, change.elsewhere, options_.min_separation * change.noise});
  if (change.growth < least_growth || change.excess_ns() < options_.min_growth * ranks.step_ns)
    return false;
  return DeviceCauses(change.changes()).is_device();
}

bool SlowHostOperator::IsSlow(const CrossRankView& view, const HostRanks& host,
                              const HostDevices& devices) const {
  // Devices that pause in rotation cost what the slowest of them costs, not their mean.
  if (devices.growth < options_.min_separation * devices.noise ||
      devices.slowest_ns < options_.min_growth * host.step_ns)
    return false;
  const auto ranks = static_cast<double>(host.ranks.size());
  // Where the capture has no clock rates, slow devices look like longer inputs unless the optimizer
  // is slower, too, and like a stage with other kernels unless a peer is on another host.
  if (!devices.has_clock && (!devices.by_bound.parameters(0) || HasStagesOfItsOwn(view, host)))
    return false;
  const DeviceCauses causes = CausesOf(view, host, devices);
  if (!causes.is_device()) return false;
  const double fewest = options_.min_ranks * ranks;
  return devices.ranks >= (causes.decided() == DeviceCause::kPauses
                               ? std::min(fewest, 1.0 * options_.fewest_pausing)
                               : fewest);
}

std::optional<bool> SlowHostOperator::SlowsParameters(const HostDevices& devices) const {
  const std::optional<Change> parameters = devices.by_bound.parameters(0);
  if (!parameters) return std::nullopt;
  return parameters->value >= options_.min_of_parameters * devices.growth;
}

Finding SlowHostOperator::Describe(const CrossRankView& view, const HostRanks& host,
                                   const HostDevices& devices) const {
  const uint64_t steps = FewestSteps(view, host);
  const double lost_ns = devices.excess_ns();
  Finding finding = Begin(view, host, lost_ns);
  finding.function = "every gpu_compute function";
  finding.function_class = FunctionClass::kGpuCompute;
  finding.confidence = 0.95 * static_cast<double>(steps) / static_cast<double>(steps + 1);
  finding.evidence = {
      {"kernels_longer", "ratio", devices.growth, 0, options_.min_separation * devices.noise,
       devices.kernels},
      {"typical_calls_longer", "ratio", devices.typical, 0, 0, devices.kernels},
      {"kernel_time_per_step", "ns", devices.kernel_ns, devices.kernel_ns - lost_ns, 0, steps},
      {"slow_ranks", "count", static_cast<double>(devices.ranks), 0,
       options_.min_ranks * static_cast<double>(host.ranks.size()), host.ranks.size()},
      {"slow_steps", "count", static_cast<double>(steps), 0, 0, steps},
  };
  if (devices.has_clock) {
    finding.evidence.push_back({"clock_and_use", "ratio", 1 + devices.clock_growth, 1,
                                1 - options_.min_separation * devices.clock_noise,
                                devices.kernels});
  }
  // Time, clock and the optimizer are measured apart from each other. Longer inputs and more layers
  // change the first alone, a clock that waits lower the second.
  constexpr int kSigns = 3;
  const std::optional<DeviceCause> cause = CausesOf(view, host, devices).decided();
  const bool low_clock = cause == DeviceCause::kLowClock;
  const int signs = 1 + (low_clock ? 1 : 0) + (SlowsParameters(devices).value_or(false) ? 1 : 0);
  finding.evidence.push_back(
      {std::string(kSignsThatAgree), "count", static_cast<double>(signs), 0, kSigns, kSigns});
  // A stage that has become heavier in the last step of a window looks like one whose devices
  // paused in it.
  constexpr int kPausesInWindows = 2;
  if (!low_clock && !SlowsParameters(devices).value_or(true))
    finding.evidence.push_back({std::string(kSeenInWindows), "count", 1, 0, kPausesInWindows, 1});
  finding.title = fmt::format(
      "The devices of host {} are slow, on {} of its {} ranks: single calls of all its kernels "
      "take {} longer than on all other hosts, "
      "which is {} a step of {}.",
      host.name, devices.ranks, host.ranks.size(), PercentText(devices.growth),
      DurationText(lost_ns), DurationText(host.step_ns));
  finding.explanation = fmt::format(
      "{}. All stages of a pipeline run the same kernels, so that calls can be compared though "
      "stages differ in how many they run.",
      WhyOf(devices, cause));
  finding.suggested_action =
      fmt::format("Look at power limits, cooling and clocks of host {}.", host.name);
  return finding;
}

Finding SlowHostOperator::Describe(const CrossRankView& view, const Place& place,
                                   const DeviceChange& change) const {
  const HostRanks& ranks = place.ranks;
  const uint64_t steps = FewestSteps(view, ranks);
  const double lost_ns = change.excess_ns();
  Finding finding = Begin(view, ranks, lost_ns);
  if (ranks.ranks.size() == 1) finding.subkind = kWholeRank;
  finding.function = "every gpu_compute function";
  finding.function_class = FunctionClass::kGpuCompute;
  finding.confidence = 0.95 * static_cast<double>(steps) / static_cast<double>(steps + 1);
  finding.evidence = {
      {"kernels_longer_than_before", "ratio", change.growth, change.elsewhere,
       std::max(options_.min_growth, options_.min_separation * change.noise), change.kernels},
      {"clock_and_use", "ratio", 1 + change.clock_growth.value_or(0), 1, 1 - 2 * change.clock_noise,
       change.kernels},
      {"typical_calls_longer", "ratio", change.typical, 0, 0, change.kernels},
      {"kernel_time_per_step", "ns", change.kernel_ns, change.kernel_ns - lost_ns, 0, steps},
      {"slow_steps", "count", static_cast<double>(steps), 0, 0, steps},
  };
  const std::string who =
      ranks.ranks.size() == 1
          ? fmt::format("The device of {}, which has no peers, has",
                        PlaceOf(view.ranks()[ranks.ranks.front()]))
          : fmt::format("The devices of host {}, where all peers of its ranks are, have",
                        ranks.name);
  finding.title = fmt::format(
      "{} become slower: single calls of its kernels take {} longer than before, which is {} a "
      "step of {}.",
      who, PercentText(change.growth), DurationText(lost_ns), DurationText(ranks.step_ns));
  finding.explanation = fmt::format(
      "Compared with the fastest of {} windows of the same processes. Elsewhere the same kernels "
      "have changed by {}, the SM clock and use "
      "here by {}.",
      change.windows, PercentText(change.elsewhere), PercentText(change.clock_growth.value_or(0)));
  finding.suggested_action =
      fmt::format("Look at clock, power limit, temperature and memory errors of {}.",
                  ranks.ranks.size() == 1 ? PlaceOf(view.ranks()[ranks.ranks.front()])
                                          : fmt::format("host {}", ranks.name));
  return finding;
}

Finding SlowHostOperator::Describe(const CrossRankView& view, const HostRanks& alone,
                                   const SlowCopies& copies) const {
  const RankView& rank = view.ranks()[alone.ranks.front()];
  const uint64_t steps = FewestSteps(view, alone);
  const double lost_ns = copies.excess_ns();
  Finding finding = Begin(view, alone, lost_ns);
  finding.subkind = "function";
  finding.function = copies.column->sample->name;
  finding.function_class = FunctionClass::kMemoryOp;
  finding.confidence = 0.9 * static_cast<double>(steps) / static_cast<double>(steps + 1);
  finding.evidence = {{"speed_of_copies", "ratio", copies.speed, 1, copies.least_elsewhere, 1},
                      {"copies_per_step", "ns", copies.own_ns, copies.own_ns - lost_ns, 0, steps},
                      {"slow_steps", "count", static_cast<double>(steps), 0, 0, steps}};
  finding.title = fmt::format(
      "Rank {}, which has no peers, copies between host and device at {} of the speed of all other "
      "ranks: {} a step of {} are lost.",
      rank.rank.value, PercentText(copies.speed), DurationText(lost_ns),
      DurationText(alone.step_ns));
  finding.explanation = fmt::format(
      "It is {} that goes so slowly; the slowest of the other ranks reaches {}. More to copy would "
      "take longer at the same speed.",
      finding.function, PercentText(copies.least_elsewhere));
  finding.suggested_action = fmt::format(
      "Look at the lanes and the speed of the PCIe link of {}, and at what else uses the memory of "
      "its host.",
      PlaceOf(rank));
  return finding;
}

Finding SlowHostOperator::Describe(const CrossRankView& view, const HostRanks& host,
                                   const HostFunction& function) const {
  const uint64_t steps = FewestSteps(view, host);
  Finding finding = Begin(view, host, function.excess_ns());
  NameFunction(*function.column->sample, finding);
  finding.confidence = 0.9 * static_cast<double>(steps) / static_cast<double>(steps + 1);
  finding.evidence = {
      {"function_time_per_step", "ns", function.own_ns, function.others_ns,
       function.others_ns + options_.min_share * host.step_ns, host.ranks.size()},
      {"slow_ranks", "count", static_cast<double>(function.ranks), 0, 0, host.ranks.size()},
      {"slow_steps", "count", static_cast<double>(steps), 0, 0, steps},
      {"active_steps", "count", static_cast<double>(FewestActive(host, *function.column)), 0, 0,
       steps},
  };
  const double windows = WindowsToBeSeenIn(view, host, function);
  if (windows > 1)
    finding.evidence.push_back({std::string(kSeenInWindows), "count", 1, 0, windows, 1});
  if (function.cpu_share)
    finding.evidence.push_back(
        {"processor_use", "ratio", *function.cpu_share, 1, 0, host.ranks.size()});
  const bool stolen = function.cpu_share.value_or(1) <= 0.5;
  finding.title = fmt::format(
      "Host {} holds all others up by {} a step ({} of {}): {} of its {} ranks run {} for {}, "
      "ranks elsewhere for {}.",
      host.name, DurationText(function.excess_ns()),
      PercentText(function.excess_ns() / host.step_ns), DurationText(host.step_ns), function.ranks,
      host.ranks.size(), finding.function, DurationText(function.own_ns),
      DurationText(function.others_ns));
  finding.explanation = stolen ? fmt::format(
                                     "Its processor is seen {} as busy for it as other hosts' are: "
                                     "somebody else takes its cores.",
                                     PercentText(*function.cpu_share))
                               : "All of its ranks do, in most steps, and hardly any elsewhere: it "
                                 "goes with the host, not with a rank.";
  finding.suggested_action =
      stolen ? fmt::format(
                   "List what else runs on host {}: monitoring, data loading of other jobs, a "
                   "daemon gone wild.",
                   host.name)
             : fmt::format(
                   "Look at what {} reads or waits for on host {}: mounts, disks, its network.",
                   finding.function, host.name);
  return finding;
}

}  // namespace eroica
