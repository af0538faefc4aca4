#include "diagnosis/slow_rank/slow_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

// What the name of all kernels together is in FindCauseClass, so that a finding keeps its identity
// where one window tells more than another.
constexpr char kEveryKernel[] = "every gpu_compute function";

std::string WhyNoInputs(const ComputeGrowth& growth) {
  constexpr double kLeast = 0.01;
  if (growth.apart_growth() < kLeast) return "";
  return fmt::format("{} slower too ({}), so that it is not the inputs. ",
                     growth.parameter_growth ? "The optimizer is" : "Its links are",
                     PercentText(growth.apart_growth()));
}

std::string_view NameOf(DeviceCause cause) {
  switch (cause) {
    case DeviceCause::kLowClock: return "a lower clock";
    case DeviceCause::kSlowMemory: return "slower memory";
    case DeviceCause::kShared: return "somebody else on the device";
    default: return "pauses";
  }
}

// What would tell it from the others.
std::string_view WhatDecides(DeviceCause cause, const ComputeGrowth& growth) {
  switch (cause) {
    case DeviceCause::kLowClock:
      return growth.clock_growth ? "denser samples of the SM clock" : "samples of the SM clock";
    case DeviceCause::kSlowMemory: return "rows of more kernels that memory bounds";
    case DeviceCause::kShared: return "a list of its processes";
    default: return "every call of its kernels";
  }
}

std::string UndecidedText(const ComputeGrowth& growth) {
  std::string causes;
  std::string decide;
  for (const DeviceCause cause : growth.undecided) {
    causes += fmt::format("{}{}", causes.empty() ? "" : " and ", NameOf(cause));
    decide += fmt::format("{}{}", decide.empty() ? "" : ", ", WhatDecides(cause, growth));
  }
  return fmt::format("{} {}; what would decide: {}.",
                     growth.undecided.size() > 1 ? "It is undecided between" : "It is most likely",
                     causes, decide);
}

// Why it is somebody else on the device.
std::string WhyShared(const ComputeGrowth& growth) {
  return fmt::format(
      "Larger inputs would not lengthen {} (here by {}), a throttled device would show a lower SM "
      "clock (here {:+.1f} % of the peers'). What is left is somebody else on the device: another "
      "process, a monitor, a profiler.",
      growth.parameter_growth ? "the optimizer" : "what its links take for a byte",
      PercentText(growth.apart_growth()), 100 * growth.clock_growth.value_or(0));
}

std::string WhyOf(const ComputeGrowth& growth) {
  switch (growth.cause) {
    case GrowthCause::kShared: return WhyShared(growth);
    case GrowthCause::kClock:
      return fmt::format("Its SM clock and use lie {} below the peers': that is the cause.",
                         PercentText(-growth.clock_growth.value_or(0)));
    case GrowthCause::kPauses:
      return "Most calls take as long as on the peers, and some much longer: the device pauses now "
             "and then.";
    case GrowthCause::kMemory:
      return fmt::format(
          "{} takes {} longer, what arithmetic bounds {}: the device's memory is slower.",
          growth.memory ? "What memory bounds" : "The optimizer, which memory bounds,",
          PercentText(growth.memory ? growth.memory->value : growth.parameter_growth.value_or(0)),
          PercentText(growth.compute ? std::max(0.0, growth.compute->value) : 0));
    default: return WhyNoInputs(growth) + UndecidedText(growth);
  }
}

std::string TitleOf(const RankView& rank, const BusyTime& busy, const ComputeGrowth& growth,
                    const std::vector<Victim>& victims) {
  if (growth.cause == GrowthCause::kShared) {
    return fmt::format(
        "The device of rank {} is shared: all its kernels take {} longer than its peers', {} too, "
        "at the usual clock; {} a step of {} are lost.",
        rank.rank.value, PercentText(growth.growth),
        growth.parameter_growth ? "the optimizer's" : "and what moves over its links",
        DurationText(busy.excess_ns), DurationText(busy.step_ns));
  }
  const std::string what =
      growth.cause == GrowthCause::kMemory && growth.memory
          ? fmt::format("its kernels that memory bounds take {} longer than its peers'",
                        PercentText(growth.memory->value))
          : fmt::format("all its kernels take {} longer than its peers'",
                        PercentText(growth.growth));
  return fmt::format("{}: {}.", HoldsUpText(rank, busy, victims), what);
}

std::string ActionFor(const ComputeGrowth& growth, const RankView& rank) {
  const std::string where = PlaceOf(rank);
  switch (growth.cause) {
    case GrowthCause::kClock:
      return fmt::format("Look at clock, power limit and temperature of the device of {}.", where);
    case GrowthCause::kPauses:
      return fmt::format(
          "Read the counters of corrected memory errors and of power brakes of the device of {}, "
          "and what else runs on it.",
          where);
    case GrowthCause::kShared:
      return fmt::format(
          "List the processes on the device of {}: nvidia-smi pmon, or DCGM's fields by process.",
          where);
    case GrowthCause::kMemory:
      return fmt::format(
          "Look at the memory clock, row remapping and memory errors of the device of {}.", where);
    default:
      return fmt::format("Sample the clock of the device of {}, and list the processes on it.",
                         where);
  }
}

// At random so many longest calls are all the same rank's once in 10^12 windows, whichever of the
// job's ranks it is.
double FewestLongestCalls(const CrossRankView& view, const ComputeGrowth& growth) {
  constexpr double kMaxPValue = 1e-12;
  const double ranks = static_cast<double>(view.ranks().size());
  return std::ceil(std::log(ranks / kMaxPValue) / std::log1p(static_cast<double>(growth.peers)));
}

}  // namespace

bool IsOfDevice(GrowthCause cause) {
  return cause == GrowthCause::kClock || cause == GrowthCause::kDevice ||
         cause == GrowthCause::kShared || cause == GrowthCause::kPauses ||
         cause == GrowthCause::kMemory;
}

std::vector<Measure> GrowthEvidence(const BusyTime& busy, const ComputeGrowth& growth,
                                    double min_separation) {
  std::vector<Measure> evidence = {
      {"busy_time_per_step", "ns", busy.busy_ns, busy.peers_busy_ns, 0, busy.steps},
      SlowStepsOf(busy),
      {std::string(kPValueOfExcess), "probability", busy.p_value_watched(), 0, 0,
       busy.watched_steps()},
      {"kernels_longer", "ratio", growth.growth, 0, min_separation * growth.noise, busy.peers},
      {"kernels_with_the_same_growth", "ratio", growth.uniform, 0, 0, busy.peers},
      {"excess_in_typical_calls", "ratio", growth.typical, 0, 0, busy.peers},
  };
  const double optimizer_least =
      growth.separation() < min_separation ? min_separation * growth.parameter_noise : 0;
  if (growth.memory) {
    evidence.push_back({"arithmetic_kernels_longer", "ratio", growth.compute->value, 0,
                        growth.compute->error, busy.peers});
    evidence.push_back({"memory_kernels_longer", "ratio", growth.memory->value, 0,
                        growth.memory->error, busy.peers});
  }
  if (growth.parameter_growth)
    evidence.push_back(
        {"optimizer_longer", "ratio", *growth.parameter_growth, 0, optimizer_least, busy.peers});
  if (growth.link_growth)
    evidence.push_back({"links_slower", "ratio", *growth.link_growth, 0, 0, busy.peers});
  if (growth.clock_growth)
    evidence.push_back({"clock_and_use", "ratio", 1 + *growth.clock_growth, 1, 0, busy.peers});
  if (growth.clock_between_waits && *growth.clock_between_waits < *growth.clock_growth)
    evidence.push_back(
        {"clock_without_waits", "ratio", 1 + *growth.clock_between_waits, 1, 0, busy.peers});
  if (growth.bytes_growth)
    evidence.push_back({"bytes_exchanged", "ratio", 1 + *growth.bytes_growth, 1, 0, busy.peers});
  return evidence;
}

Finding DescribeSlowDevice(const CrossRankView& view, const BusyTime& busy,
                           const ComputeGrowth& growth, double min_separation) {
  const RankView& rank = view.ranks()[busy.rank];
  Finding finding;
  const bool shared = growth.cause == GrowthCause::kShared;
  finding.kind = shared ? FindingKind::kContention : FindingKind::kSlowRank;
  finding.subkind = shared ? "device" : kWholeRank;
  finding.culprits = {CulpritOf(rank)};
  finding.victims = VictimsOf(view, busy);
  finding.function = kEveryKernel;
  finding.function_class = FunctionClass::kGpuCompute;
  finding.evidence = GrowthEvidence(busy, growth, min_separation);
  if (growth.cause == GrowthCause::kPauses) {
    // Steps vary as pauses do, which is why few of them tell little of who is late; single calls
    // are many.
    const double fewest = FewestLongestCalls(view, growth);
    const auto longest = static_cast<double>(growth.longest_calls);
    finding.evidence.push_back(
        {"calls_longer_than_any_of_peers", "count", longest, 0, fewest, growth.peers});
    finding.evidence.push_back(
        {std::string(kSignsThatAgree), "count", longest >= fewest ? 2.0 : 1.0, 0, 2, 2});
  }
  finding.lost_ns_per_step = busy.excess_ns;
  const double sure = growth.cause == GrowthCause::kDevice ? 0.8 : shared ? 0.9 : 0.95;
  finding.confidence = sure * busy.steps / (busy.steps + 1.0);
  finding.first_step = FirstStepOf(rank, busy);
  finding.last_step = rank.batch->steps.back().id;
  finding.title = TitleOf(rank, busy, growth, finding.victims);
  finding.explanation = fmt::format(
      "Over {} steps the {} other rank{} of its role ran the same kernels {} faster, and differ by "
      "{} among each other. {}",
      busy.steps, busy.peers, busy.peers == 1 ? "" : "s", PercentText(growth.growth),
      PercentText(growth.noise), WhyOf(growth));
  if (growth.parameter_growth && growth.separation() < min_separation &&
      growth.cause != GrowthCause::kMemory) {
    finding.explanation += fmt::format(
        " Inputs are uneven, but none lengthen the optimizer: it takes {} longer, where the peers "
        "differ by {}.",
        PercentText(*growth.parameter_growth), PercentText(growth.parameter_noise));
  }
  finding.suggested_action = ActionFor(growth, rank);
  AddCaveatOfSteps(busy, &finding);
  return finding;
}

}  // namespace eroica
