#include "diagnosis/spike/spike_operator.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/rotating_stalls.h"
#include "diagnosis/report/shared_processors.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

Finding Describe(const CrossRankView& view, const StepSpike& spike,
                 const std::optional<CauseFunction>& cause, const StepSpikeOptions& options) {
  const RankView& rank = view.ranks()[spike.rank];
  const double spike_ns = spike.excess_ns * spike.steps / spike.slow_steps;
  const std::string how_many = spike.slow_steps == 1 ? "one" : fmt::format("{}", spike.slow_steps);
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = kTransient;
  finding.culprits = {{.rank = static_cast<int32_t>(rank.rank.value),
                       .host = rank.batch->host,
                       .device = rank.batch->device}};
  finding.lost_ns_per_step = spike.excess_ns;
  finding.first_step = rank.batch->steps.front().id;
  finding.last_step = rank.batch->steps.back().id;
  finding.confidence = 0.7;
  finding.evidence = {
      {"busy_time_per_step", "ns", spike.busy_ns, spike.usual_ns,
       spike.usual_ns + options.min_share * spike.step_ns, spike.steps},
      {std::string(kExcessOverNoise), "ratio", spike.separation, 1, options.min_separation,
       spike.steps},
      {"slow_steps", "count", static_cast<double>(spike.slow_steps), 0, 0, spike.steps},
  };
  std::string where = "in no function that stands out";
  if (cause) {
    finding.function = cause->name;
    finding.stack = cause->stack;
    finding.function_class = cause->function_class;
    finding.evidence.push_back(
        {"function_time_per_step", "ns", cause->own_ns, cause->peers_ns, 0, spike.others});
    where = "in " + cause->name;
  }
  finding.title = fmt::format(
      "Rank {} is slow in single steps, by {} in {} of the last {}, and well in between; that time "
      "goes by {}.",
      rank.rank.value, DurationText(spike_ns), how_many, spike.steps, where);
  finding.explanation = fmt::format(
      "A step of rank {} held the others up by {}, {:.0f} times the noise of a step; in "
      "most steps the rank is as usual, and "
      "so are {} others in this one. It has happened to this rank more often than accidents would "
      "hit any one rank.",
      rank.rank.value, DurationText(spike_ns), spike.separation, spike.others);
  finding.suggested_action = fmt::format(
      "Look at what visits rank {} at times: a job of the host, the {} clocks and temperature, "
      "retries; a fault may be about to come. Watch whether it becomes more frequent.",
      rank.rank.value, rank.batch->host_only ? "processor's" : "device's");
  finding.caveats.push_back("Transient: most steps are well.");
  return finding;
}

// What runs in half of the steps at most because it has begun in this window makes ranks late in
// the second half alone; where a host is a stage, it makes all peers equally late, so that no rank
// stands out.
uint32_t WindowsFor(const Rotation& rotation, const SpikeOptions& options) {
  constexpr size_t kQuarter = 4;
  return rotation.p_value <= options.max_p_value_alone && !rotation.of_one_host &&
                 kQuarter * rotation.early >= rotation.ranks
             ? 1
             : options.windows_with_rotation;
}

// A straggler that rotates, without its evidence and words. cost_ns: lost a step.
Finding RoamingFinding(const CrossRankView& view, double cost_ns) {
  const Window& window = view.ranks().front().batch->window;
  Finding finding;
  finding.kind = FindingKind::kStepTime;
  finding.subkind = kRoaming;
  finding.lost_ns_per_step = cost_ns;
  finding.first_step = window.first_step;
  finding.last_step = window.last_step;
  finding.confidence = 0.7;
  return finding;
}

Finding DescribeRotation(const CrossRankView& view, const Rotation& rotation,
                         const SpikeOptions& options) {
  const FunctionPattern& sample = *rotation.sample;
  Finding finding = RoamingFinding(view, rotation.cost_ns);
  finding.function = sample.name;
  finding.stack = sample.stack;
  finding.function_class = sample.function_class;
  finding.evidence = {
      {"slow_steps", "count", static_cast<double>(rotation.occurrences), 0, 0, rotation.rank_steps},
      {"function_time_per_slow_step", "ns", rotation.occurrence_ns, 0, 0, rotation.occurrences},
      {"lateness_per_function_time", "ratio", rotation.slope, 0, options.rotation.min_slope,
       rotation.rank_steps},
      {"p_value", "probability", rotation.p_value, 1, options.rotation.max_p_value,
       rotation.rank_steps},
      {std::string(kSeenInWindows), "count", 1, 0,
       static_cast<double>(WindowsFor(rotation, options)), 1},
  };
  finding.title = fmt::format(
      "The straggler rotates among {} ranks: when one of them holds the others up, it runs {}, for "
      "{}.",
      rotation.ranks, sample.name, DurationText(rotation.occurrence_ns));
  finding.explanation = fmt::format(
      "It runs in {:.0f} % of the steps of a rank, in steps of its own for each of them, so that "
      "many steps of the job wait for somebody. Steps "
      "differ too much to see it in one of them; but ranks that ran it for longer over the window "
      "are late by as much longer, {:.2g} ns for "
      "each nanosecond.",
      100.0 * rotation.occurrences / rotation.rank_steps, rotation.slope);
  finding.suggested_action =
      fmt::format("Make {} happen on all ranks at once, or less often.", sample.name);
  finding.caveats.push_back("Transient: most steps are well.");
  return finding;
}

// Kernels that take longer now and then do so on a device that stalls within one, or have more to
// do; so do operators of ranks without a device, by their processors.
void SayWhatTurnsShow(bool in_kernels, bool host_only, Finding* finding) {
  if (!in_kernels) {
    finding->title += ", and nothing that was recorded of it explains that.";
    finding->explanation = fmt::format(
        "{} No function, kernel or copy that was recorded takes longer then.", kNobodyIsToBlame);
    finding->suggested_action = kLookForStalls;
    return;
  }
  if (host_only) {
    finding->title += ": its operators take longer then.";
    finding->explanation = fmt::format(
        "{} The operators that work on data take as much longer on it: its processor stalls within "
        "one of them, or it has more to do in that step.",
        kNobodyIsToBlame);
    finding->suggested_action =
        "Look at what else runs on the hosts at such moments, at the clocks and temperatures of "
        "their processors, and whether micro-batches or experts have different loads.";
    return;
  }
  finding->title += ": its kernels take longer then.";
  finding->explanation = fmt::format(
      "{} The kernels that work on data take as much longer on it: the device stalls within one of "
      "them, or has more to do in that step.",
      kNobodyIsToBlame);
  finding->suggested_action =
      "Look at the clocks, temperatures and errors of all devices at such moments (dcgmi, Xid, "
      "page migration), and whether micro-batches or experts have different loads.";
}

Finding DescribeTurns(const CrossRankView& view, const Turns& turns, bool in_kernels,
                      const SpikeOptions& options) {
  Finding finding = RoamingFinding(view, turns.cost_ns);
  finding.evidence = {
      {"slow_steps", "count", static_cast<double>(turns.slow_steps), 0, 0, turns.steps},
      {"stall", "ns", turns.stall_ns, 0, 0, turns.slow_steps},
      {std::string(kSeenInWindows), "count", 1, 0,
       static_cast<double>(options.windows_with_rotation), 1},
  };
  finding.title = fmt::format(
      "The straggler rotates among {} ranks: in {} of {} steps one of them holds the others up, by "
      "{}",
      turns.ranks, std::min(turns.slow_steps, turns.steps), turns.steps,
      DurationText(turns.stall_ns));
  const bool host_only =
      std::ranges::all_of(view.ranks(), [](const RankView& rank) { return rank.batch->host_only; });
  SayWhatTurnsShow(in_kernels, host_only, &finding);
  finding.caveats.push_back("Transient: most steps of each rank are well.");
  return finding;
}

// What the rank runs more of than others.
std::optional<CauseFunction> CauseOf(const CrossRankView& view, const StepSpike& spike,
                                     const CauseOptions& options) {
  std::optional<CauseFunction> cause =
      FindCauseFunction(view, spike.rank, spike.excess_ns, options);
  if (!cause && !spike.lone) cause = FindCauseClass(view, spike.rank, spike.excess_ns, options);
  return cause;
}

struct NamedSpike {
  StepSpike spike;
  std::optional<CauseFunction> cause;  // what it runs in few steps
  std::optional<CauseFunction> more;   // without one: what it runs more of than others
};

std::vector<NamedSpike> NameSpikes(const CrossRankView& view, const SpikeOptions& options) {
  std::vector<NamedSpike> named;
  for (const StepSpike& spike : FindStepSpikes(view, options.steps)) {
    CauseOptions of_spike = options.cause;
    of_spike.peers_of_any_role = spike.lone;
    named.push_back(
        {spike,
         FindOccasionalFunction(view, spike.rank, spike.excess_ns, spike.steps / 2, of_spike),
         std::nullopt});
  }
  return named;
}

// What most ranks of a role run as long, half of them must be late in, each in steps of its own:
// where all run it at once a rank is late for another reason.
void DropWhatAllRunAtOnce(const CrossRankView& view, std::vector<NamedSpike>& named) {
  const auto role_of = [&view](const NamedSpike& spike) {
    return view.ranks()[spike.spike.rank].role;
  };
  std::map<std::pair<uint32_t, std::string>, uint32_t> late;  // by role and function
  for (const NamedSpike& spike : named) {
    if (spike.cause) ++late[{role_of(spike), spike.cause->name}];
  }
  for (NamedSpike& spike : named) {
    if (!spike.cause || spike.spike.lone || 2 * spike.cause->peers_ns < spike.cause->own_ns)
      continue;
    if (2 * late[{role_of(spike), spike.cause->name}] < spike.spike.others + 1) spike.cause.reset();
  }
}

// Where the straggler rotates, the slow steps of all ranks that are late in a function are the same
// step at random in one of steps^(ranks - 1) windows. Where that is the window's last step, what
// slows them begins there, and the next window says on whom.
void DropWhatBeginsAtOnce(std::vector<NamedSpike>& named) {
  constexpr double kMaxPValue = 1.0 / 8;
  struct Ranks {
    uint32_t all = 0;
    uint32_t at_end = 0;  // alone
  };
  std::map<std::string, Ranks> late;  // by function
  for (const NamedSpike& spike : named) {
    if (!spike.cause) continue;
    Ranks& ranks = late[spike.cause->name];
    ++ranks.all;
    ranks.at_end += spike.spike.slow_steps == 1 && spike.spike.at_end == 1 ? 1 : 0;
  }
  std::erase_if(named, [&late](const NamedSpike& spike) {
    if (!spike.cause) return false;
    const Ranks& ranks = late[spike.cause->name];
    return ranks.all == ranks.at_end &&
           std::pow(spike.spike.steps, 1 - static_cast<double>(ranks.all)) <= kMaxPValue;
  });
}

void FindWhatRunsMore(const CrossRankView& view, const CauseOptions& options,
                      std::vector<NamedSpike>& named) {
  for (NamedSpike& spike : named) {
    if (spike.cause) continue;
    CauseOptions of_spike = options;
    of_spike.peers_of_any_role = spike.spike.lone;
    spike.more = CauseOf(view, spike.spike, of_spike);
  }
}

bool IsUnexplained(const NamedSpike& spike) { return !spike.cause && !spike.more; }

std::vector<StepSpike> UnexplainedOf(const std::vector<NamedSpike>& named) {
  std::vector<StepSpike> unexplained;
  for (const NamedSpike& spike : named) {
    if (IsUnexplained(spike)) unexplained.push_back(spike.spike);
  }
  return unexplained;
}

}  // namespace

void SpikeOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size())
    return;
  std::vector<NamedSpike> named = NameSpikes(view, options_);
  DropWhatAllRunAtOnce(view, named);
  DropWhatBeginsAtOnce(named);
  FindWhatRunsMore(view, options_.cause, named);
  const std::vector<StepSpike> unexplained = UnexplainedOf(named);
  const std::optional<Turns> turns = FindTurns(unexplained, options_.turns);
  if (turns)
    findings.push_back(DescribeTurns(view, *turns, AreInKernels(view, unexplained), options_));
  for (const NamedSpike& spike : named) {
    if (turns && IsUnexplained(spike)) continue;
    if (!spike.cause && !spike.spike.lone && spike.spike.slow_steps > 1)
      continue;  // a device that has its moods is slow_rank's
    findings.push_back(
        Describe(view, spike.spike, spike.cause ? spike.cause : spike.more, options_.steps));
    // The scheduler's turns make now this and now that rank slow in single steps.
    SayThatProcessorsAreShared(view, spike.spike.rank, &findings.back());
  }
  for (const Rotation& rotation : FindRotations(view, options_.rotation))
    findings.push_back(DescribeRotation(view, rotation, options_));
}

}  // namespace eroica
