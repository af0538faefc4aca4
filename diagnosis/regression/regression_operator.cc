#include "diagnosis/regression/regression_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/measurements/busiest_connection.h"
#include "diagnosis/measurements/hidden_work.h"
#include "diagnosis/measurements/host_ranks.h"
#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/processor_shortage.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/stack_frames.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/measurements/symptom.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/regression/active_steps.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/statistics/healthy_spread.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {
namespace {

std::vector<double> PastOf(std::span<const PatternBatch> past, FunctionId function) {
  std::vector<double> values;
  for (const PatternBatch& profile : past) values.push_back(FunctionNsOf(profile, function));
  return values;
}

// Whether the function has risen beyond noise, corrected for the number of functions.
bool HasRisen(const JobChange& change, const std::vector<double>& past, FunctionId function,
              const ChangeOptions& options) {
  std::vector<double> since;
  for (const PatternBatch* window : change.since) since.push_back(FunctionNsOf(*window, function));
  return PValueOfRise(past, since) * static_cast<double>(change.since.back()->patterns.size()) <=
         options.function_p_value;
}

struct Cause {
  const FunctionPattern* row = nullptr;
  double past_ns = 0;
  double now_ns = 0;
  double coverage = 0;
};

// Whether half of the ranks of a role run it, and more than one: what one rank alone has come to
// run is that rank's, and no change of the job.
bool RunsOnARole(const CrossRankView& view, FunctionId function) {
  const FunctionColumn* column = view.FindFunction(function);
  if (column == nullptr) return true;  // no function of ranks, such as the transfer of collectives
  std::vector<size_t> members(view.role_count());
  std::vector<size_t> runners(view.role_count());
  for (const RankView& rank : view.ranks()) ++members[rank.role];
  for (const RankIndex rank : column->rank) ++runners[view.ranks()[rank].role];
  for (size_t role = 0; role < members.size(); ++role) {
    if (runners[role] > 1 && 2 * runners[role] >= members[role]) return true;
  }
  const auto runs = [function](const RankView& rank) {
    return RunsForNs(rank, function) > 0;
  };  // perhaps while it waits for others
  const size_t all = std::max<size_t>(
      column->size(), static_cast<size_t>(std::ranges::count_if(view.ranks(), runs)));
  return (all > 1 || view.world_size() == 1) && 2 * all >= view.ranks().size();
}

// Whether noise may make sampled stacks of so many ranks show so much more of a function. Times are
// of a step.
bool MayBeSamplingNoise(const CrossRankView& view, uint64_t ranks, double past_ns, double now_ns) {
  std::vector<double> samples_ns;
  std::vector<double> steps;
  for (const RankView& rank : view.ranks()) {
    if (!rank.has_steps()) continue;
    samples_ns.push_back(SampleNs(*rank.batch));
    steps.push_back(rank.step.steps);
  }
  if (samples_ns.empty()) return false;
  const double times = Median(std::span(steps)) *
                       static_cast<double>(std::min<uint64_t>(ranks, view.ranks().size()));
  return SamplingErrorsBetween(now_ns * times, past_ns * times, Median(std::span(samples_ns))) <
         kSamplingErrors;
}

// Whether most of the ranks that run it run it longer by half of what their mean does: one rank may
// lengthen the mean of two.
bool RunsLongerOnMost(const CrossRankView& view, const FunctionPattern& row, double past_ns,
                      double now_ns) {
  if (row.function == TransferOfCollectives()) return true;  // of no rank
  constexpr double kHalf = 0.5;
  size_t run = 0;
  size_t longer = 0;
  for (const RankView& rank : view.ranks()) {
    const double ns = rank.has_steps() ? RunsForNs(rank, row.function) : 0;
    if (ns <= 0) continue;
    ++run;
    longer += ns - past_ns >= kHalf * (now_ns - past_ns) ? 1 : 0;
  }
  return run == 0 || 2 * longer > run;
}

// The function that most of the ranks which run it have become slower in; time that collectives
// only wait is nobody's cause.
std::optional<Cause> FindCause(const CrossRankView& view, const JobChange& change,
                               const RegressionOptions& options) {
  Cause best;
  for (const FunctionPattern& row : change.since.back()->patterns) {
    if (IsSymptom(row) && row.function != TransferOfCollectives()) continue;
    std::vector<double> past = PastOf(change.past, row.function);
    if (change.faint && !HasRisen(change, past, row.function, options.change)) continue;
    if (change.begun_in != nullptr &&
        !HasRisenSince(change, past, FunctionNsOf(*change.begun_in, row.function),
                       static_cast<double>(row.critical_ns)))
      continue;
    const bool network = row.function == TransferOfCollectives();
    // What comes now and then is in some windows and not in others: it must take more than in any
    // of them.
    const bool in_most = network || RunsInMostSteps(view, row.function);
    const double past_ns = in_most ? Median(std::span(past)) : std::ranges::max(past);
    double now_ns = static_cast<double>(row.critical_ns);
    for (const PatternBatch* window : change.since)
      now_ns = std::min(now_ns, FunctionNsOf(*window, row.function));
    // A function that varies as much as the job has changed is no reason that anybody could tell.
    if (network && past_ns > 0 &&
        IsNetworkAsFast(change.past, *change.since.back(), now_ns / past_ns - 1))
      continue;
    if (IsSeenInStacks(row) && MayBeSamplingNoise(view, row.count, past_ns, now_ns)) continue;
    if (!RunsLongerOnMost(view, row, past_ns, now_ns)) continue;
    const double coverage =
        (now_ns - past_ns) / (network ? change.excess_ns() : change.own_excess_ns());
    if (coverage > best.coverage)
      best = {.row = &row, .past_ns = past_ns, .now_ns = now_ns, .coverage = coverage};
  }
  if (best.row == nullptr || best.coverage < options.min_coverage ||
      !RunsOnARole(view, best.row->function))
    return std::nullopt;
  return best;
}

std::vector<Victim> EveryRank(const CrossRankView& view, double lost_ns) {
  std::vector<Victim> victims;
  for (const RankView& rank : view.ranks()) {
    if (!rank.has_steps()) continue;
    const double steps = static_cast<double>(rank.batch->steps.size());
    victims.push_back({.rank = rank.rank,
                       .lost_ns = static_cast<int64_t>(lost_ns * steps),
                       .lost_ns_per_step = lost_ns});
  }
  return victims;
}

// Ranks of one host without devices work and exchange by its processors.
bool ShareProcessors(const CrossRankView& view) {
  const RankView& first = view.ranks().front();
  return std::ranges::all_of(view.ranks(), [&first](const RankView& rank) {
    return rank.batch->host_only && rank.batch->host == first.batch->host;
  });
}

std::string ActionFor(const CrossRankView& view, const FunctionPattern& row) {
  if (row.function == TransferOfCollectives() && ShareProcessors(view))
    return "The ranks exchange in the memory of one host, by its processors: look at what else "
           "runs "
           "there, and at how much they exchange.";
  if (row.function == TransferOfCollectives())
    return "Look at what all ranks share of the network: paths, flow scheduling, other jobs, a "
           "changed setting of the library that moves the data (NCCL, gloo, MPI).";
  if (IsStarvation(row.name))
    return "Look at what else runs on the hosts, and at how many threads each rank starts: there "
           "are more than processors.";
  return fmt::format(
      "Look at what changed in {} or in what it reads; compare with the version before.", row.name);
}

constexpr std::string_view kUnrecordedRanks = "unrecorded_ranks";

// Whether some connection carries data for as long as the ranks are in collectives a step.
bool TransfersFill(const CrossRankView& view, double collectives_ns) {
  return std::ranges::any_of(view.ranks(), [&](const RankView& rank) {
    return PerStep(rank.step, BusiestConnectionNs(*rank.batch)) >= collectives_ns;
  });
}

// Time in collectives that has grown where members of them are not recorded: it is the wait for one
// of these, or the network.
void SuspectUnrecorded(const CrossRankView& view, const Cause& cause, Finding& finding) {
  finding.kind = FindingKind::kStepTime;
  finding.subkind = kUnrecordedRanks;
  std::string times =
      fmt::format("{} instead of {}", DurationText(cause.now_ns), DurationText(cause.past_ns));
  if (cause.now_ns > ProfileStepNs(view.profile())) times += " (all that overlap added up)";
  finding.title =
      TransfersFill(view, cause.now_ns)
          ? fmt::format(
                "On all ranks recorded {} of each step pass in collectives, undecided "
                "whether a rank that is not recorded or the network is slower.",
                times)
          : fmt::format(
                "The ranks recorded have come to wait for ranks that are not: {} of each "
                "step pass in collectives, on all of them.",
                times);
  finding.explanation +=
      " Not all members of these collectives are recorded, so that one of them may arrive later "
      "than it did, or the network be slower.";
  finding.suggested_action = "Record all ranks: the one that hardly waits is the straggler.";
  finding.caveats.push_back("Undecided between a rank that is not recorded and the network.");
}

Finding Describe(const CrossRankView& view, const JobChange& change, const Cause& cause,
                 const RegressionOptions& options) {
  const bool network = cause.row->function == TransferOfCollectives();
  Finding finding;
  finding.kind = network ? FindingKind::kCommunication : FindingKind::kRegression;
  finding.subkind = network ? "everywhere" : "function";
  finding.function = cause.row->name;
  finding.stack = cause.row->stack;
  finding.function_class = cause.row->function_class;
  finding.lost_ns_per_step = change.excess_ns();
  finding.victims = EveryRank(view, change.excess_ns());
  finding.confidence = 0.9 * std::min(1.0, 0.5 + cause.coverage / 2);
  const auto windows = static_cast<uint64_t>(change.past.size());
  finding.evidence = {
      {"step_time", "ns", change.now_ns, change.past_ns, change.past_ns + change.least_ns, windows},
      {"function_time_per_step", "ns", cause.now_ns, cause.past_ns,
       cause.past_ns + options.min_coverage * change.excess_ns(), cause.row->count},
      {"excess_explained_by_function", "ratio", cause.coverage, 0, options.min_coverage, windows}};
  finding.title = fmt::format(
      "The job has become slower on all ranks, {} a step instead of {}: {} takes {} instead of {}.",
      DurationText(change.now_ns), DurationText(change.past_ns), cause.row->name,
      DurationText(cause.now_ns), DurationText(cause.past_ns));
  finding.explanation = fmt::format(
      "The {} against the {} before them, each rank with its own past: {} of the longer step lie "
      "in this function, on {} ranks. No rank differs from its peers in it.",
      change.begun_in != nullptr ? "newest window and the end of the one before"
                                 : fmt::format("{} newest windows", change.since.size()),
      windows, PercentText(std::min(1.0, cause.coverage)), cause.row->count);
  finding.suggested_action = ActionFor(view, *cause.row);
  if (network && LacksMembers(view)) SuspectUnrecorded(view, cause, finding);
  finding.first_step =
      view.ranks().front().batch->steps.empty() ? -1 : view.ranks().front().batch->steps.front().id;
  finding.last_step =
      view.ranks().front().batch->steps.empty() ? -1 : view.ranks().front().batch->steps.back().id;
  return finding;
}

Finding DescribeUnneeded(const CrossRankView& view, const UnneededPython& python,
                         const ExpectationOptions& options) {
  const double share = python.ns / python.step_ns;
  const PatternBatch& batch = *view.ranks().front().batch;
  Finding finding;
  finding.kind = FindingKind::kRegression;
  finding.subkind = "function";
  finding.function = python.name;
  finding.stack = python.stack;
  finding.function_class = FunctionClass::kPython;
  finding.lost_ns_per_step = python.ns;
  finding.victims = EveryRank(view, python.ns);
  finding.confidence = 0.7;
  finding.evidence = {
      {"share_of_step", "ratio", share, share, options.max_python_share, python.ranks},
      {"function_time_per_step", "ns", python.ns, python.ns,
       options.max_python_share * python.step_ns, python.ranks}};
  finding.title = fmt::format(
      "{} takes {} of every step on all {} ranks ({} of {}), and training needs nothing of it.",
      python.name, PercentText(share), python.ranks, DurationText(python.ns),
      DurationText(python.step_ns));
  finding.explanation =
      "No rank differs from its peers, so no machine is slow. It is Python on the critical path, "
      "that is while no kernel runs and nothing is exchanged, and it is neither optimizer nor "
      "data loading, nor, where Python computes, part of the forward or backward pass.";
  finding.suggested_action = fmt::format(
      "Look at {}: take it out of the step, do it less often, or on another thread.", python.name);
  finding.caveats = {
      "The job's past does not tell: either there is none yet, or it has always been so."};
  finding.first_step = batch.steps.empty() ? -1 : batch.steps.front().id;
  finding.last_step = batch.steps.empty() ? -1 : batch.steps.back().id;
  return finding;
}

// The newest windows of the history that have as many ranks as now: a job of another size takes
// other time.
std::span<const PatternBatch> OfThisSize(const CrossRankView& view) {
  std::span<const PatternBatch> history = view.past().profiles;
  size_t count = 0;
  while (count < history.size() &&
         history[history.size() - 1 - count].world_size == view.profile().world_size)
    ++count;
  return history.last(count);
}

double RanksOf(const PatternBatch& profile) {
  for (const FunctionPattern& row : profile.patterns) {
    if (row.function == TransferOfCollectives()) return static_cast<double>(row.count);
  }
  return 0;
}

// Where the number of ranks has changed for good, as against a rank whose telemetry is missing now
// and then: all windows before had more than any since, or fewer. The first window since; 0 where
// there is none.
size_t ChangeOfRanks(std::span<const PatternBatch> history, const PatternBatch& now) {
  std::vector<double> ranks;
  for (const PatternBatch& profile : history) ranks.push_back(RanksOf(profile));
  ranks.push_back(RanksOf(now));
  for (size_t first = ranks.size() - 1; first > 0; --first) {
    const auto [least_before, most_before] = std::ranges::minmax(std::span(ranks).first(first));
    const auto [least_since, most_since] = std::ranges::minmax(std::span(ranks).subspan(first));
    if (least_before > most_since || most_before < least_since) return first;
  }
  return 0;
}

// Of these the newest in which as many ranks reported, within a twentieth: a job whose ranks have
// left is another one, with other rings. The window of the change has steps of both.
std::span<const PatternBatch> OfTheseRanks(std::span<const PatternBatch> history,
                                           const PatternBatch& now) {
  constexpr double kSameSize = 0.05;
  const double ranks = RanksOf(now);
  const size_t changed = ChangeOfRanks(history, now);
  size_t first = history.size();
  while (first > changed && std::abs(RanksOf(history[first - 1]) - ranks) <= kSameSize * ranks)
    --first;
  const size_t mixed = first > 0 && first < history.size() ? 1 : 0;
  return history.subspan(first + mixed);
}

// Ranks without devices share their processors with whatever else runs there.
ChangeOptions OptionsFor(const CrossRankView& view, ChangeOptions options) {
  const bool host_only =
      std::ranges::all_of(view.ranks(), [](const RankView& rank) { return rank.batch->host_only; });
  if (host_only) options.drift = std::max(options.drift, kProcessorDrift);
  return options;
}

// Somebody else's program is an accident as long as it runs: what it may explain must have lasted
// for more than the time in which one wait is an accident, or in as many windows as other claims
// about such waits.
size_t WindowsOfANeighbor(const PatternBatch& now) {
  const double window_ns = ProfileStepNs(now) * static_cast<double>(now.steps.size());
  const double windows =
      std::ceil(static_cast<double>(kTimeOfAccidentsNs) / std::max(1.0, window_ns));
  return static_cast<size_t>(std::min(windows, static_cast<double>(kWindowsOfSharedWaits)));
}

bool MayBeABriefNeighbor(std::span<const PatternBatch> history, const PatternBatch& now,
                         const JobChange& change) {
  const auto is_slower = [&change](const PatternBatch& profile) {
    return ProfileStepNs(profile) - change.past_ns >= change.least_ns;
  };
  const auto before = std::find_if_not(history.rbegin(), history.rend(), is_slower);
  const auto windows = 1 + static_cast<size_t>(before - history.rbegin());
  return windows < WindowsOfANeighbor(now);
}

bool WereProcessorsShort(const JobChange& change) {
  std::vector<double> waits;
  for (const PatternBatch& profile : change.past) waits.push_back(CriticalProcessorWaitNs(profile));
  return Median(std::span(waits)) >= kShareOfShortage * change.past_ns;
}

// What processors that others use, too, may explain. A wait for a rank that is not recorded is not.
bool MayBeChance(const CrossRankView& view, const JobChange& change, const Cause& cause) {
  const bool transfers = cause.row->function == TransferOfCollectives();
  if (transfers && LacksMembers(view)) return false;
  const bool waits = cause.row->name.starts_with(kWaitForProcessor);
  const bool share = ShareProcessors(view);
  if ((waits || (transfers && share)) && WereProcessorsShort(change)) return true;
  return (waits || share) && MayBeABriefNeighbor(OfThisSize(view), view.profile(), change);
}

// Whether the job has become slower, and why. Where its ranks have changed it must be slower than
// with as many as now, too.
std::optional<Finding> FindRegression(const CrossRankView& view, const RegressionOptions& options) {
  const ChangeOptions change_options = OptionsFor(view, options.change);
  bool shows_change = false;
  for (const auto find : {&FindChange, &FindChangeBegunBefore, &FindFaintChange}) {
    const std::optional<JobChange> change = find(OfThisSize(view), view.profile(), change_options);
    if (!change) continue;
    shows_change = true;
    const std::optional<Cause> cause = FindCause(view, *change, options);
    if (cause && MayBeChance(view, *change, *cause)) continue;
    const std::span<const PatternBatch> of_these = OfTheseRanks(OfThisSize(view), view.profile());
    if (cause && find(of_these, view.profile(), change_options))
      return Describe(view, *change, *cause, options);
  }
  NewFunctionOptions new_function = options.new_function;
  if (ShareProcessors(view))
    new_function.min_since = std::max(new_function.min_since, WindowsOfANeighbor(view.profile()));
  const std::optional<NewFunction> work =
      FindNewFunction(view, OfTheseRanks(OfThisSize(view), view.profile()), new_function);
  if (!work || !RunsOnARole(view, work->row->function)) return std::nullopt;
  const FunctionPattern& row = *work->row;
  if (IsSeenInStacks(row) && MayBeSamplingNoise(view, row.count, work->before_ns, work->now_ns))
    return std::nullopt;
  if (!RunsLongerOnMost(view, row, work->before_ns, work->now_ns)) return std::nullopt;
  const double coverage = (work->now_ns - work->before_ns) / work->change.excess_ns();
  // Where the steps show by how much they are longer, something else makes the rest.
  if (work->grown && shows_change && coverage < options.min_coverage) return std::nullopt;
  return Describe(
      view, work->change,
      {.row = work->row, .past_ns = work->before_ns, .now_ns = work->now_ns, .coverage = coverage},
      options);
}

// What was not so in the window before is a pause, or a change that the next window will confirm.
bool WasSoBefore(const CrossRankView& view, const UnneededPython& python,
                 const ExpectationOptions& options) {
  if (view.past().profiles.empty()) return true;
  const PatternBatch& before = view.past().profiles.back();
  double ns = 0;
  for (const FunctionPattern& row : before.patterns) {
    const std::vector<std::string_view> frames = FramesOf(row);
    if (std::find(frames.begin(), frames.end(), python.name) != frames.end())
      ns += static_cast<double>(row.critical_ns);
  }
  return ns >= options.max_python_share * MeanStepOf(before).duration_ns;
}

Finding DescribeNetwork(const CrossRankView& view, const NetworkChange& change,
                        const NetworkChangeOptions& options) {
  const std::string_view link = change.resource == Resource::kNic ? "NICs" : "NVLink";
  const double lost_ns = std::max(
      1.0, std::min(change.wait_ns, std::max(change.transfer_ns, change.now_ns - change.past_ns)));
  const PatternBatch& batch = *view.ranks().front().batch;
  Finding finding;
  finding.kind = FindingKind::kCommunication;
  finding.subkind = "everywhere";
  finding.function = kTransferOfCollectives;
  finding.function_class = FunctionClass::kCollective;
  finding.lost_ns_per_step = lost_ns;
  finding.victims = EveryRank(view, lost_ns);
  finding.confidence = 0.9;
  finding.evidence = {{"speed", "GB/s", change.now_speed, change.past_speed,
                       options.slow_share * change.past_speed, change.past_windows},
                      {"step_time", "ns", change.now_ns, change.past_ns, 0, change.past_windows},
                      {"collective_time_growth_per_step", "ns", change.transfer_ns, 0,
                       options.min_share * change.past_ns, change.past_windows},
                      {"peer_wait_growth_per_step", "ns", change.wait_ns, 0,
                       options.min_share * change.past_ns, change.past_windows}};
  finding.title = fmt::format(
      "Data moves more slowly than it did, over the {} of all hosts: at {} instead "
      "of {}.",
      link, SpeedText(change.now_speed), SpeedText(change.past_speed));
  finding.explanation = fmt::format(
      "The two newest windows against the {} before them, connections of each kind with their own "
      "past. All kinds are slower, so no rank, "
      "host or path is to blame.",
      change.past_windows);
  finding.suggested_action =
      "Look at what all ranks share of the network: paths, flow scheduling, other jobs, a changed "
      "setting of the library that moves the data (NCCL, gloo, MPI).";
  finding.first_step = batch.steps.empty() ? -1 : batch.steps.front().id;
  finding.last_step = batch.steps.empty() ? -1 : batch.steps.back().id;
  return finding;
}

}  // namespace

void RegressionOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  std::optional<Finding> regression = FindRegression(view, options_);
  if (regression && regression->subkind != kUnrecordedRanks) {
    findings.push_back(std::move(*regression));
    return;
  }
  const std::span<const PatternBatch> of_these = OfTheseRanks(OfThisSize(view), view.profile());
  NetworkChangeOptions of_network = options_.network;
  of_network.has_nics = view.hosts().size() != 1;
  if (const std::optional<NetworkChange> network =
          FindNetworkChange(of_these, view.profile(), of_network)) {
    findings.push_back(DescribeNetwork(view, *network, of_network));
    return;
  }
  if (regression) {
    findings.push_back(std::move(*regression));
    return;
  }
  const std::optional<UnneededPython> python = FindUnneededPython(view, options_.expectation);
  if (!python || MayBeSamplingNoise(view, python->ranks, 0, python->ns)) return;
  if (WasSoBefore(view, *python, options_.expectation))
    findings.push_back(DescribeUnneeded(view, *python, options_.expectation));
}

}  // namespace eroica
