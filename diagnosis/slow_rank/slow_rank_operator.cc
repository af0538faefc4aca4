#include "diagnosis/slow_rank/slow_rank_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/hypotheses/compute_growth.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/measurements/loader_workers.h"
#include "diagnosis/measurements/processor_shortage.h"
#include "diagnosis/measurements/sampled_stacks.h"
#include "diagnosis/measurements/starvation.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/lasting_claim.h"
#include "diagnosis/report/shared_processors.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/slow_rank/slow_device.h"
#include "diagnosis/slow_rank/unattributed_work.h"
#include "diagnosis/slow_rank/unseen_waits.h"

namespace eroica {
namespace {

// "runs train.py(5): augment", "waits for its data loader's 2 workers, dataset Text,".
std::string WhatItRan(const CauseFunction& cause) {
  if (IsWaitForData(cause.name)) {
    const std::string_view rest = std::string_view(cause.name).substr(kWaitForData.size());
    return fmt::format("waits for its data loader's {},", rest.substr(0, rest.rfind(')')));
  }
  std::string text = "runs " + cause.name;
  if (!cause.hottest_leaf.empty()) text += fmt::format(" (mostly {})", cause.hottest_leaf);
  return text;
}

std::string BesideIt(const CauseFunction& cause) {
  if (cause.processor_wait_ns <= 0) return "";
  return fmt::format(", with {} of longer waits for a processor that the holder of the lock uses,",
                     DurationText(cause.processor_wait_ns));
}

std::vector<Measure> EvidenceOf(const BusyTime& busy, const CauseFunction& cause,
                                const std::vector<Victim>& victims,
                                const SlowRankOptions& options) {
  const double step_floor = options.min_share * busy.step_ns;
  return {
      {"busy_time_per_step", "ns", busy.busy_ns, busy.peers_busy_ns,
       busy.peers_busy_ns + step_floor, busy.steps},
      WaitForPeersOf(busy, victims),
      {std::string(kExcessOverNoise), "ratio", busy.separation(), 1, options.min_separation,
       busy.steps},
      SlowStepsOf(busy),
      {std::string(kPValueOfExcess), "probability", busy.p_value_watched(), 0, 0,
       busy.watched_steps()},
      {"function_time_per_step", "ns", cause.own_ns, cause.peers_ns,
       cause.peers_ns + options.cause.min_coverage * busy.excess_ns, busy.peers},
      {"excess_explained_by_function", "ratio", cause.coverage, 0, options.cause.min_coverage,
       busy.peers},
  };
}

double ConfidenceOf(const BusyTime& busy, const CauseFunction& cause, bool explained) {
  const double persistence = busy.slow_steps / (busy.slow_steps + 1.0);
  const double coverage = 0.6 + 0.4 * std::min(1.0, cause.coverage);
  return persistence * coverage * (explained ? 1.0 : 0.8);
}

// " (processor used by stress-ng)" where the rank's telemetry names who else uses its processors.
std::string CompetitorOf(const PatternBatch& batch) {
  const FunctionPattern* most = nullptr;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (IsCompetitor(pattern.name) && (most == nullptr || pattern.total_ns > most->total_ns))
      most = &pattern;
  }
  return most == nullptr ? "" : " " + most->name;
}

std::string ActionForStarvation(const CauseFunction& cause, const RankView& rank) {
  if (cause.name.starts_with(kWaitForGil)) {
    return fmt::format(
        "Look at the thread that holds the interpreter's lock on {}: move its work to another "
        "process, or to code that gives the lock away.",
        PlaceOf(rank));
  }
  const bool workers = cause.name.find(kOfLoaderWorkers) != std::string::npos;
  return fmt::format(
      "Look at what else runs on the processors of {}{}: other jobs, {}and to which cores "
      "processes "
      "are pinned.",
      PlaceOf(rank), CompetitorOf(*rank.batch),
      workers ? "how many data loader workers the ranks of the host have together, " : "");
}

// What may slow a rank as a whole.
std::string_view SlowsAsAWhole(const RankView& rank) {
  return rank.batch->host_only ? "clocks, temperature, other processes on its cores"
                               : "clocks, temperature, other processes on its cores or device";
}

std::string ActionFor(const CauseFunction& cause, const RankView& rank, bool explained) {
  const std::string where = PlaceOf(rank);
  if (explained && IsStarvation(cause.name)) return ActionForStarvation(cause, rank);
  if (IsWaitForData(cause.name)) {
    return fmt::format(
        "Look at what loads the batches of {}: what the dataset reads from, and whether its "
        "workers get a processor (py-spy dump of a worker shows where it is). More workers hide "
        "it.",
        where);
  }
  if (!explained)
    return fmt::format("Look for what slows {} as a whole: {}.", where, SlowsAsAWhole(rank));
  const bool alone = cause.specificity > 0.5;
  if (cause.function_class == FunctionClass::kPython && alone)
    return fmt::format("Look at {} on {}: only this rank spends its steps there.", cause.name,
                       where);
  return fmt::format("Compare {} on {} with its peers: input sizes first, then the {}.", cause.name,
                     where, rank.batch->host_only ? "host" : "device or host");
}

// Whether most of the peers run half as much of it, and hardly one of them is late: then it is not
// what makes the rank late. Who takes turns is late as much as the rank, each in other steps.
bool PeersRunItInTime(const CrossRankView& view, const BusyTime& busy, const CauseFunction& cause) {
  if (cause.peers_ns < kHalf * cause.own_ns) return false;
  uint32_t late = 0;
  for (const BusyTime& peer : view.busy_times()) {
    const bool is_peer = peer.role == busy.role && peer.rank != busy.rank;
    late += is_peer && peer.excess_ns >= kHalf * busy.excess_ns ? 1 : 0;
  }
  return 2 * late < busy.peers;
}

// Whether sampling noise alone may make the stacks show so much more of it. That the rank is late
// is known already: fewer standard errors will do than where nothing is. Waits for the GIL are
// sampled more often than stacks are read.
bool MayBeSamplingNoise(const PatternBatch& batch, const CauseFunction& cause) {
  constexpr double kErrors = 3;
  const auto leaf = std::ranges::find(batch.patterns, cause.leaf, &FunctionPattern::function);
  if (leaf == batch.patterns.end() || !IsSeenInStacks(*leaf) || IsStarvation(cause.name))
    return false;
  const auto steps = static_cast<double>(batch.steps.size());
  return SamplingErrorsBetween(cause.own_ns * steps, cause.peers_ns * steps, SampleNs(batch)) <
         kErrors;
}

// Whether it lasts longer than the rank is busy at all: it passes while the rank waits for others,
// too, for a part that is not known, and is no name for what makes the rank busier. Functions are
// known of all steps of the window, and of some of these nothing is diagnosed (suppressed_steps.h).
bool LastsBeyondWork(const PatternBatch& batch, const BusyTime& busy, const CauseFunction& cause) {
  const auto steps = static_cast<double>(batch.steps.size());
  const auto all = static_cast<double>(batch.window.last_step - batch.window.first_step + 1);
  return cause.own_ns * std::min(1.0, steps / std::max(1.0, all)) > busy.busy_ns;
}

// A checkpoint, an evaluation, a reload: what runs in a single step is no habit of the rank,
// however much else makes it late in the others.
bool RanOnce(const PatternBatch& batch, const CauseFunction& cause) {
  uint32_t steps = 0;
  for (const FunctionPattern& pattern : batch.patterns)
    steps += pattern.function == cause.leaf ? pattern.active_steps : 0;
  return steps == 1;
}

// Adds the function that holds most of the excess of a rank that is slower as a whole.
void TellLargestPart(const CrossRankView& view, const BusyTime& busy,
                     const SlowRankOptions& options, Finding* finding) {
  constexpr double kLeastCoverage = 0.2;
  const std::optional<CauseFunction> part =
      FindLargestPart(view, busy.rank, busy.excess_ns, kLeastCoverage, options.cause);
  if (!part || MayBeSamplingNoise(*view.ranks()[busy.rank].batch, *part)) return;
  finding->explanation +=
      fmt::format(" For the largest part it {}: {} a step, {} on its peers, {} of the difference.",
                  WhatItRan(*part), DurationText(part->own_ns), DurationText(part->peers_ns),
                  PercentText(std::min(1.0, part->coverage)));
  finding->suggested_action = fmt::format(
      "Look at {} on {} first, the largest part of what it runs longer; then at what slows "
      "it as a whole: {}.",
      part->name, PlaceOf(view.ranks()[busy.rank]), SlowsAsAWhole(view.ranks()[busy.rank]));
}

// Adds where the workers were whose batches the rank waits for.
void TellPlaceOfWorkers(const RankView& rank, const CauseFunction& cause, Finding* finding) {
  if (!IsWaitForData(cause.name)) return;
  const std::optional<WorkersPlace> place = PlaceOfWorkers(*rank.batch, cause.name);
  if (!place) return;
  finding->explanation += fmt::format(
      " The workers were in {} for {} of that wait{}.", place->function, PercentText(place->share),
      place->stack.empty() ? "" : fmt::format(", called by {}", place->stack));
  finding->suggested_action =
      fmt::format("Look at {} in the data loader's workers of {}. More workers hide it.",
                  place->function, PlaceOf(rank));
}

// Whether the rank may be late because it got no processor: it waits for one, runs all that it runs
// slower, or waits for longer than it is late in what its peers run, too. What threads beside it
// take (of a BLAS library, say) is in no lane: while they get no processor the function lasts.
bool MayBeShortageOfProcessors(const CrossRankView& view, const BusyTime& busy,
                               const CauseFunction& cause) {
  if (cause.name.starts_with(kWaitForProcessor) || IsWholeThread(cause.name)) return true;
  return cause.peers_ns > 0 && ProcessorWaitsOf(view, busy.rank).own_ns >= busy.excess_ns;
}

// What the rank is late by beside its waits for a processor, where another function is named.
double ChargedNs(const CrossRankView& view, const BusyTime& busy, const CauseFunction& cause) {
  if (IsStarvation(cause.name) || IsWholeThread(cause.name)) return busy.excess_ns;
  const ProcessorWaits waits = ProcessorWaitsOf(view, busy.rank);
  const double rest_ns = busy.excess_ns - std::max(0.0, waits.own_ns - waits.others_ns);
  return std::clamp(cause.own_ns - cause.peers_ns, std::max(0.0, rest_ns), busy.excess_ns);
}

// A sentence about the rest, if any.
std::string WaitsBeside(const BusyTime& busy, double charged_ns) {
  if (charged_ns >= busy.excess_ns) return "";
  return fmt::format(" {} of it are waits for a processor that others use, and are not counted.",
                     DurationText(busy.excess_ns - charged_ns));
}

Finding Describe(const CrossRankView& view, const BusyTime& busy, const CauseFunction& cause,
                 bool explained, const SlowRankOptions& options) {
  const RankView& rank = view.ranks()[busy.rank];
  BusyTime charged = busy;
  charged.excess_ns = ChargedNs(view, busy, cause);
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = explained ? kNamedFunction : kWholeRank;
  finding.culprits = {CulpritOf(rank)};
  finding.victims = VictimsOf(view, busy);
  finding.function = cause.name;
  finding.stack = cause.stack;
  finding.function_class = cause.function_class;
  finding.evidence = EvidenceOf(busy, cause, finding.victims, options);
  finding.lost_ns_per_step = charged.excess_ns;
  finding.confidence = ConfidenceOf(busy, cause, explained);
  finding.first_step = FirstStepOf(rank, busy);
  finding.last_step = rank.batch->steps.back().id;
  finding.title = fmt::format("{}: it {} for {}, its peers for {}.",
                              HoldsUpText(rank, charged, finding.victims), WhatItRan(cause),
                              DurationText(cause.own_ns), DurationText(cause.peers_ns));
  finding.explanation =
      fmt::format("{} {}{} accounts for {} of it.{}", BusierThanPeersText(rank, busy), cause.name,
                  BesideIt(cause), PercentText(std::min(1.0, cause.coverage)),
                  WaitsBeside(busy, charged.excess_ns));
  finding.suggested_action = ActionFor(cause, rank, explained);
  if (!explained) TellLargestPart(view, busy, options, &finding);
  TellPlaceOfWorkers(rank, cause, &finding);
  if (MayBeShortageOfProcessors(view, busy, cause))
    SayThatProcessorsAreShared(view, busy.rank, &finding);
  AddCaveatOfSteps(busy, &finding);
  return finding;
}

// Whether the rank would be late over many windows without what its kernels take longer, which may
// be what healthy devices differ by. busy: `lasting` in the steps of this window.
bool IsLateBesideKernels(const BusyTime& lasting, const BusyTime& busy,
                         const ComputeGrowth& growth) {
  const LastingOptions options;
  const double rest_ns = busy.excess_ns - std::max(0.0, growth.excess_ns());
  const double noise_ns = lasting.noise_ns * busy.step_ns / lasting.step_ns;
  return rest_ns >= options.min_separation * noise_ns &&
         rest_ns >= options.min_share * busy.step_ns;
}

// Of two ranks that are recorded of a larger role nobody can say which one differs from the rest.
bool IsOneOfTwoRecorded(const CrossRankView& view, const BusyTime& busy) {
  const uint32_t role_size = view.world_size() / std::max(1u, view.role_count());
  return busy.peers < 2 && busy.peers + 1 < role_size;
}

}  // namespace

void SlowRankOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  for (const BusyTime& busy : view.busy_times()) {
    if (busy.steps < options_.min_steps || busy.share() < options_.min_share) continue;
    if (IsOneOfTwoRecorded(view, busy)) continue;
    if (busy.lasting_ns < options_.min_lasting * busy.excess_ns) continue;
    const ComputeGrowth growth = MeasureComputeGrowth(view, busy);
    if (growth.cause != GrowthCause::kUnclear && Explains(growth, busy)) {
      if (IsOfDevice(growth.cause) &&
          StandsOut(growth, options_.min_separation_unexplained, view.ranks().size()))
        findings.push_back(
            DescribeSlowDevice(view, busy, growth, options_.min_separation_unexplained));
      continue;
    }
    EvaluateFunctions(view, busy, growth, findings);
  }
  std::ranges::move(FindUnseenWaits(view), std::back_inserter(findings));
  for (const BusyTime& lasting : view.lasting_excess()) {
    if (!IsOneOfTwoRecorded(view, lasting)) EvaluateLasting(view, lasting, findings);
  }
}

// What a window cannot tell is told by many; why is told by the newest one.
void SlowRankOperator::EvaluateLasting(const CrossRankView& view, const BusyTime& lasting,
                                       std::vector<Finding>& findings) const {
  const std::optional<BusyTime> busy = LastingInSteps(view, lasting, findings);
  if (!busy) return;
  const ComputeGrowth growth = MeasureComputeGrowth(view, *busy, options_.least_growth);
  const size_t before = findings.size();
  if (growth.cause != GrowthCause::kUnclear && Explains(growth, *busy)) {
    if (IsOfDevice(growth.cause) &&
        StandsOut(growth, options_.min_separation_unexplained, view.ranks().size()))
      findings.push_back(
          DescribeSlowDevice(view, *busy, growth, options_.min_separation_unexplained));
  } else if (const std::optional<CauseFunction> cause =
                 FindCauseFunction(view, busy->rank, busy->excess_ns, options_.cause)) {
    const PatternBatch& batch = *view.ranks()[busy->rank].batch;
    if (cause->specificity >= options_.min_specificity && !MayBeSamplingNoise(batch, *cause) &&
        !LastsBeyondWork(batch, *busy, *cause) && !RanOnce(batch, *cause) &&
        IsLateBesideKernels(lasting, *busy, growth))
      findings.push_back(Describe(view, *busy, *cause, true, options_));
  }
  if (findings.size() > before) TellLasting(lasting, findings.back());
}

bool SlowRankOperator::Explains(const ComputeGrowth& growth, const BusyTime& busy) const {
  const bool more_work =
      growth.cause == GrowthCause::kData || growth.cause == GrowthCause::kRouting;
  const double explained_ns = more_work ? growth.more_ns() : growth.excess_ns();
  return explained_ns >= options_.cause.min_coverage * busy.excess_ns;
}

// Where ranks exchange unequally much, all kernels on data may be longer on one that is sent more,
// some by other shares than others. What works on parameters is as on the peers then, and so is the
// clock.
bool SlowRankOperator::IsUnevenWork(const ComputeGrowth& growth) {
  constexpr double kQuarter = 0.25;
  if (growth.exchange == nullptr || !growth.parameter_growth || !growth.clock_growth) return false;
  const double most = kQuarter * growth.more();
  return *growth.parameter_growth <= most && *growth.clock_growth >= -most;
}

// What shows in half of the steps or fewer may be what all ranks run now and then, in rotation.
std::optional<CauseFunction> SlowRankOperator::FunctionOf(const CrossRankView& view,
                                                          const BusyTime& busy) const {
  std::optional<CauseFunction> cause;
  if (2 * busy.slow_steps <= busy.steps)
    cause = FindOccasionalFunction(view, busy.rank, busy.excess_ns, busy.steps / 2, options_.cause);
  if (cause && PeersRunItInTime(view, busy, *cause)) cause.reset();
  if (!cause) cause = FindCauseFunction(view, busy.rank, busy.excess_ns, options_.cause);
  const PatternBatch& batch = *view.ranks()[busy.rank].batch;
  if (cause && (MayBeSamplingNoise(batch, *cause) || LastsBeyondWork(batch, busy, *cause)))
    cause.reset();
  return cause;
}

void SlowRankOperator::EvaluateFunctions(const CrossRankView& view, const BusyTime& busy,
                                         const ComputeGrowth& growth,
                                         std::vector<Finding>& findings) const {
  if (busy.separation() < options_.min_separation) return;
  if (const std::optional<CauseFunction> cause = FunctionOf(view, busy)) {
    const PatternBatch& batch = *view.ranks()[busy.rank].batch;
    if (RanOnce(batch, *cause)) return;
    findings.push_back(Describe(view, busy, *cause, true, options_));
    return;
  }
  const std::optional<UnattributedWork> unattributed =
      FindUnattributedWork(view, busy, options_.cause.min_coverage);
  if (unattributed && unattributed->specificity() >= options_.min_specificity) {
    findings.push_back(
        DescribeUnattributedWork(view, busy, *unattributed, options_.min_separation));
    return;
  }
  if (busy.share() < options_.min_share_unexplained ||
      busy.separation() < options_.min_separation_unexplained)
    return;
  if (busy.slow_steps < options_.min_slow_steps_unexplained * busy.steps) return;
  const std::optional<CauseFunction> cause =
      FindCauseClass(view, busy.rank, busy.excess_ns, options_.cause);
  // Of a few kernels nobody can say that all of the device is slow: more may have been asked of
  // them.
  const bool few_kernels = growth.expected_ns > 0 && growth.uniform < options_.min_uniform;
  if (cause && cause->function_class == FunctionClass::kGpuCompute &&
      (few_kernels || IsUnevenWork(growth)))
    return;
  if (cause && cause->specificity >= options_.min_slowdown_unexplained &&
      !LastsBeyondWork(*view.ranks()[busy.rank].batch, busy, *cause)) {
    findings.push_back(Describe(view, busy, *cause, false, options_));
  } else if (unattributed) {
    findings.push_back(
        DescribeUnattributedWork(view, busy, *unattributed, options_.min_separation_unexplained));
  }
}

}  // namespace eroica
