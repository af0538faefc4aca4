// What ImbalanceOperator says of ranks whose kernels take longer because they are given more to do:
// longer inputs, or more tokens for their experts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/deciding_numbers.h"
#include "diagnosis/hypotheses/compute_growth.h"
#include "diagnosis/imbalance/hidden_waits.h"
#include "diagnosis/imbalance/imbalance_operator.h"
#include "diagnosis/measurements/cause_function.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/held_up.h"
#include "diagnosis/slow_rank/slow_device.h"

namespace eroica {
namespace {

constexpr size_t kMostNamed = 8;  // ranks in a sentence
constexpr double kErrorsOfTime = 6;
constexpr double kErrorsOfWork = 4;
// steps differ by more than work does there: by what experts are sent, and by waits that look like
// work
constexpr double kErrorsOfRoutedWork = 2;
// by time, of kernels: where more of them go with the bytes, it is longer sequences that do, not
// experts
constexpr double kMostRouted = 2.0 / 3;

struct GrownRank {
  BusyTime busy;
  ComputeGrowth growth;
};

std::string RanksText(const CrossRankView& view, const std::vector<GrownRank>& grown) {
  std::string text;
  for (size_t i = 0; i < std::min(grown.size(), kMostNamed); ++i) {
    text +=
        fmt::format("{}{}", text.empty() ? "" : ", ", view.ranks()[grown[i].busy.rank].rank.value);
  }
  if (grown.size() > kMostNamed) text += fmt::format(" and {} more", grown.size() - kMostNamed);
  return fmt::format("rank{} {}", grown.size() == 1 ? "" : "s", text);
}

const GrownRank& Slowest(const std::vector<GrownRank>& grown) {
  return *std::max_element(grown.begin(), grown.end(), [](const auto& a, const auto& b) {
    return a.busy.excess_ns < b.busy.excess_ns;
  });
}

std::vector<Victim> OthersOf(const CrossRankView& view, const std::vector<GrownRank>& grown) {
  std::vector<Victim> victims = VictimsOf(view, Slowest(grown).busy);
  std::erase_if(victims, [&](const Victim& victim) {
    return std::any_of(grown.begin(), grown.end(), [&](const GrownRank& rank) {
      return view.ranks()[rank.busy.rank].rank == victim.rank;
    });
  });
  return victims;
}

Finding Describe(const CrossRankView& view, const std::vector<GrownRank>& grown,
                 double max_p_value) {
  const GrownRank& slowest = Slowest(grown);
  const PatternBatch& batch = *view.ranks()[slowest.busy.rank].batch;
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.victims = OthersOf(view, grown);
  finding.function_class = FunctionClass::kGpuCompute;
  finding.evidence = GrowthEvidence(slowest.busy, slowest.growth, 0);
  if (slowest.busy.p_value <= max_p_value)
    finding.evidence.push_back(
        {"p_value", "probability", slowest.busy.p_value, 1, max_p_value, slowest.busy.steps});
  finding.evidence.push_back({"ranks_with_more_work", "count", static_cast<double>(grown.size()), 0,
                              0, slowest.busy.peers + 1});
  finding.lost_ns_per_step = slowest.busy.excess_ns;
  finding.confidence = 0.9 * slowest.busy.steps / (slowest.busy.steps + 1.0);
  finding.first_step = batch.steps.front().id;
  finding.last_step = batch.steps.back().id;
  return finding;
}

// Of the ranks that they are compared with.
double ShareOfCompared(const std::vector<GrownRank>& grown) {
  std::map<uint32_t, size_t> compared;  // by role
  for (const GrownRank& rank : grown) compared[rank.busy.role] = rank.busy.peers + 1;
  size_t ranks = 0;
  for (const auto& [role, of_role] : compared) ranks += of_role;
  return static_cast<double>(grown.size()) / static_cast<double>(std::max<size_t>(1, ranks));
}

// By how many different amounts ranks of one role have more: those that share their inputs have the
// same. Of the role with most.
size_t CountAmounts(const std::vector<GrownRank>& grown) {
  // more than what kernels that did the same differ by on the average of a window
  constexpr double kApart = 0.005;
  std::map<uint32_t, std::vector<double>> amounts;
  for (const GrownRank& rank : grown) amounts[rank.busy.role].push_back(rank.growth.more());
  size_t most = 0;
  for (auto& [role, more] : amounts) {
    std::ranges::sort(more);
    size_t count = 1;
    for (size_t i = 1; i < more.size(); ++i) count += more[i] - more[i - 1] > kApart ? 1 : 0;
    most = std::max(most, count);
  }
  return most;
}

// Ranks that share their inputs (tensor parallel) may be one of two or three replicas, and one of
// these always has the most: that is a single comparison, however many ranks and steps make it.
// More than half are told by the few that have less; where three have more, each its own amount, no
// more than half are six replicas.
bool AreOfFewReplicas(const std::vector<GrownRank>& grown) {
  constexpr double kQuarter = 0.25;
  constexpr size_t kSeveral = 3;
  const double share = ShareOfCompared(grown);
  return share > kQuarter && share <= kHalf && CountAmounts(grown) < kSeveral;
}

// Those that fewer windows show than make a t-test of their own.
void DropFewReplicasOverFewWindows(const CrossRankView& view, std::vector<GrownRank>& over_many) {
  constexpr size_t kFewestWindows = 7;  // a look (lasting_excess.h)
  if (!AreOfFewReplicas(over_many)) return;
  std::erase_if(over_many, [&view](const GrownRank& rank) {
    return rank.busy.steps < kFewestWindows * view.ranks()[rank.busy.rank].batch->steps.size();
  });
}

Finding DescribeData(const CrossRankView& view, const std::vector<GrownRank>& grown,
                     double max_p_value) {
  const auto& [busy, growth] = Slowest(grown);
  Finding finding = Describe(view, grown, max_p_value);
  finding.subkind = "data";
  // A device that pauses has longer kernels, too, and an optimizer that takes as long as on the
  // peers where the pauses happen to miss it. That they miss it on two devices, or on one that
  // exchanges more besides, would be one coincidence too many.
  constexpr int kSigns = 2;
  const bool sent_more = 2 * growth.routed_ns >= growth.more_ns();
  const size_t signs = AreOfFewReplicas(grown) ? 0 : grown.size() + (sent_more ? 1 : 0);
  finding.evidence.push_back(
      {std::string(kSignsThatAgree), "count", static_cast<double>(signs), 0, kSigns, grown.size()});
  finding.function = "every kernel that works on data";
  finding.title = fmt::format(
      "Inputs are unevenly shared out: the kernels of {} take up to {} longer than their peers', "
      "{} a step of {}.",
      RanksText(view, grown), PercentText(growth.more()), DurationText(busy.excess_ns),
      DurationText(busy.step_ns));
  finding.explanation = fmt::format(
      "It is all kernels of the forward and backward pass, most calls of them, in {} of {} steps "
      "on the same ranks.",
      busy.slow_steps, busy.steps);
  if (growth.parameter_growth) {
    finding.explanation += fmt::format(
        " The optimizer, whose work is that of the parameters, takes as long as on the peers "
        "({:+.1f} %); on a slow device it would not, "
        "or its clock would be lower.",
        100 * *growth.parameter_growth);
  }
  if (growth.clock_growth)
    finding.explanation += fmt::format(" The clock is the peers' within {:.1f} %.",
                                       100 * std::abs(*growth.clock_growth));
  if (growth.exchange != nullptr) {
    finding.explanation +=
        fmt::format(" The bytes of {} differ in the same way ({:+.0f} %).", growth.exchange->name,
                    100 * growth.bytes_growth.value_or(0));
  }
  finding.suggested_action =
      "Balance the inputs: batch by length, pack sequences, or shuffle samples over the data "
      "replicas.";
  return finding;
}

Finding DescribeRouting(const CrossRankView& view, const std::vector<GrownRank>& grown,
                        double max_p_value) {
  const auto& [busy, growth] = Slowest(grown);
  Finding finding = Describe(view, grown, max_p_value);
  finding.subkind = "expert";
  // the time of the kernels and the bytes of the collective, which no device changes
  constexpr int kSigns = 2;
  finding.evidence.push_back(
      {std::string(kSignsThatAgree), "count", kSigns, 0, kSigns, grown.size()});
  finding.function = growth.routed->name;
  finding.stack = growth.routed->stack;
  finding.function_class = growth.routed->function_class;
  const double share =
      growth.routed_peers_ns > 0 ? growth.routed_own_ns / growth.routed_peers_ns : 0;
  finding.evidence.push_back({"routed_kernels_per_step", "ns", growth.routed_own_ns,
                              growth.routed_peers_ns, 0, busy.peers});
  const bool one = grown.size() == 1;
  finding.title = fmt::format(
      "Work is unevenly routed: {} exchange{} up to {:.1f} times the bytes of {} peers, and "
      "compute{} {:.1f} times as long on them ({} a "
      "step of {}).",
      RanksText(view, grown), one ? "s" : "", 1 + growth.bytes_growth.value_or(0),
      one ? "its" : "their", one ? "s" : "", share, DurationText(busy.excess_ns),
      DurationText(busy.step_ns));
  finding.explanation = fmt::format(
      "Over the ranks of the role the time in {} varies as the bytes of {} do, in {} of {} steps; "
      "what they leave unexplained is no more "
      "than the peers differ by. So no "
      "machine is slow: some experts (or shards of a table) are asked for more than others.",
      growth.routed->name, growth.exchange->name, busy.slow_steps, busy.steps);
  finding.suggested_action =
      "Balance the routing: a capacity factor, a balancing loss, or hot experts on more ranks.";
  return finding;
}

// What is known of the rank over many windows, in the steps of this one: of as many as all these
// windows have.
BusyTime InSteps(BusyTime lasting, const BusyTime& now) {
  lasting.rank = now.rank;
  lasting.excess_ns = lasting.share() * now.step_ns;
  lasting.step_ns = now.step_ns;
  lasting.steps *= now.steps;
  lasting.slow_steps *= now.steps;
  return lasting;
}

// Late by what its kernels take longer in this window, whatever else makes it late or early.
// Whether that is worth telling.
bool TakeLonger(const ComputeGrowth& growth, BusyTime& busy) {
  busy.excess_ns = std::max(growth.excess_ns(), growth.more_ns());
  return busy.share() >= LastingOptions{}.min_share;
}

const BusyTime* Find(const std::vector<BusyTime>& times, RankIndex rank) {
  const auto found = std::ranges::find(times, rank, &BusyTime::rank);
  return found != times.end() ? &*found : nullptr;
}

// Where there are few replicas, windows that resemble each other by coincidence make the standard
// error of their mean look small. The spread of this window's steps does not: no mean over windows
// is known better than the mean of as many such steps.
double ErrorsOfSteps(const BusyTime& over_many, const BusyTime& now) {
  const double error_ns =
      now.error_ns / std::sqrt(static_cast<double>(std::max(1u, over_many.steps)));
  return error_ns > 0 ? over_many.share() * now.step_ns / error_ns
                      : std::numeric_limits<double>::infinity();
}

// Whether experts compute a part of it for what they are sent, so that steps tell little of the
// work.
bool IsRoutedInPart(const ComputeGrowth& growth) {
  return growth.routed_share > 0 && growth.routed_share <= kMostRouted;
}

// A good part of what the rank is late by lies in a function of its training thread, which takes no
// longer for more work on the device.
bool IsLateOnThread(const CrossRankView& view, const BusyTime& busy) {
  const std::optional<CauseFunction> cause =
      FindCauseFunction(view, busy.rank, busy.excess_ns, {.min_coverage = 0.3});
  return cause && RunsOnThread(cause->function_class);
}

// What the rank has more of over many windows is more than healthy devices differ by.
bool IsBeyondHealthy(const CrossRankView& view, const BusyTime& lasting) {
  return lasting.peers_busy_ns > 0 &&
         IsBeyondHealthyDevices(lasting.excess_ns / lasting.peers_busy_ns,
                                ModeratedByOthers(lasting.noise_ns / lasting.peers_busy_ns,
                                                  lasting.peers, {}, kDeviceSpread),
                                view.ranks().size());
}

struct LateRank {
  BusyTime busy;
  bool by_work = false;  // it is its kernels that say so,
  bool lasting = false;  // and many windows, as this one alone does not
  double errors = 0;     // of the steps, by which it stands out then
  // more than healthy devices differ by, so that it may be its inputs; its bytes are no device's
  bool beyond_devices = true;
};

// Ranks that are late in this window, or over many, or that have more work than their peers over
// many: lengths and routing that are drawn anew for each step make some rank late in most steps of
// a short window, so that few steps tell little, and what stands in every window tells more.
std::vector<LateRank> LateRanks(const CrossRankView& view, const ImbalanceOptions& options) {
  const std::vector<BusyTime> more_work =
      FindLastingExcess(view.ranks(), view.role_count(), view.past().work, view.work_times());
  std::vector<LateRank> late;
  for (const BusyTime& busy : view.busy_times()) {
    const bool lasts = busy.p_value <= options.max_p_value &&
                       busy.slow_steps >= options.min_growth_steps * busy.steps;
    const BusyTime* over_many = Find(view.lasting_excess(), busy.rank);
    if (busy.steps >= options.min_steps && busy.share() >= options.min_share && lasts) {
      late.push_back({.busy = busy});
    } else if (const BusyTime* work = Find(more_work, busy.rank);
               work != nullptr && ErrorsOfSteps(*work, busy) >= kErrorsOfRoutedWork) {
      late.push_back({.busy = InSteps(*work, busy),
                      .by_work = true,
                      .lasting = true,
                      .errors = ErrorsOfSteps(*work, busy),
                      .beyond_devices = IsBeyondHealthy(view, *work)});
    } else if (over_many != nullptr && busy.excess_ns >= over_many->excess_ns / 2 &&
               ErrorsOfSteps(*over_many, busy) >= kErrorsOfTime) {
      late.push_back({.busy = InSteps(*over_many, busy),
                      .lasting = true,
                      .beyond_devices = IsBeyondHealthy(view, *over_many)});
    }
  }
  return late;
}

// That a rank is sent more in this window may be a coincidence, which does not explain why it is
// late in many windows: only those ranks stay that exchange more than their peers over many
// windows, too.
void KeepThoseSentMore(const CrossRankView& view, std::vector<GrownRank>& routing) {
  if (routing.empty()) return;
  const std::vector<BusyTime> sent_more =
      FindLastingExcess(view.ranks(), view.role_count(), view.past().bytes, view.exchanged());
  std::erase_if(routing,
                [&](const GrownRank& rank) { return Find(sent_more, rank.busy.rank) == nullptr; });
}

// Longer inputs are more tokens for some expert: a rank that is sent no more than they are longer
// is no second imbalance, or half as much again, as who is sent them differs from step to step.
void DropWhatInputsSend(const std::vector<GrownRank>& data, std::vector<GrownRank>& routing) {
  double longer = 0;
  for (const GrownRank& rank : data) longer = std::max(longer, rank.growth.more());
  constexpr double kUneven = 1.5;
  if (longer > 0)
    std::erase_if(routing, [longer](const GrownRank& rank) {
      return rank.growth.bytes_growth.value_or(0) <= kUneven * longer;
    });
}

// Most ranks of a role with more work than few: half of the replicas and more have longer inputs,
// so that the median is one of theirs. Compared with those few.
std::vector<GrownRank> MoreThanFew(const CrossRankView& view) {
  const std::vector<BusyTime> less_work = FindLastingExcess(
      view.ranks(), view.role_count(), view.past().work, view.work_times(), {.less = true});
  std::vector<std::vector<RankIndex>> few(view.role_count());
  for (const BusyTime& less : less_work) {
    const BusyTime* now = Find(view.busy_times(), less.rank);
    if (now != nullptr && ErrorsOfSteps(less, *now) >= kErrorsOfWork)
      few[less.role].push_back(less.rank);
  }
  constexpr double kMostToOne = 4;  // else it is a few that have less, and nobody has more
  std::vector<GrownRank> grown;
  for (const BusyTime& now : view.busy_times()) {
    const std::vector<RankIndex>& peers = few[now.role];
    if (kMostToOne * static_cast<double>(peers.size()) < now.peers + 1 ||
        std::ranges::binary_search(peers, now.rank))
      continue;
    BusyTime busy = InSteps(*Find(less_work, peers.front()), now);
    const ComputeGrowth growth = MeasureComputeGrowth(view, busy, peers);
    if (growth.cause == GrowthCause::kData && TakeLonger(growth, busy))
      grown.push_back({busy, growth});
  }
  return grown;
}

}  // namespace

bool ImbalanceOperator::EvaluateGrowth(const CrossRankView& view,
                                       std::vector<Finding>& findings) const {
  std::vector<GrownRank> data;
  std::vector<GrownRank> data_over_many;
  std::vector<GrownRank> routing;
  std::vector<GrownRank> routing_over_many;
  for (auto& [busy, by_work, lasting, errors, beyond_devices] : LateRanks(view, options_)) {
    const ComputeGrowth growth = MeasureComputeGrowth(view, busy);
    if (by_work && errors < kErrorsOfWork && !IsRoutedInPart(growth)) continue;
    if (by_work ? !TakeLonger(growth, busy) : IsLateOnThread(view, busy)) continue;
    if (growth.cause == GrowthCause::kData && beyond_devices &&
        growth.more_ns() >= options_.min_coverage * busy.excess_ns)
      (lasting ? data_over_many : data).push_back({busy, growth});
    if (growth.cause == GrowthCause::kRouting)
      (lasting ? routing_over_many : routing).push_back({busy, growth});
  }
  KeepThoseSentMore(view, routing_over_many);
  routing.insert(routing.end(), routing_over_many.begin(), routing_over_many.end());
  DropFewReplicasOverFewWindows(view, data_over_many);
  data.insert(data.end(), data_over_many.begin(), data_over_many.end());
  if (data.empty() && routing.empty()) {
    data = MoreThanFew(view);
    DropFewReplicasOverFewWindows(view, data);
  }
  if (routing.empty()) {
    for (const HotRank& hot : FindHotRanks(view, options_.hidden_waits))
      routing.push_back({hot.busy, hot.growth});
  }
  DropWhatInputsSend(data, routing);
  if (!data.empty()) findings.push_back(DescribeData(view, data, options_.max_p_value));
  if (!routing.empty()) findings.push_back(DescribeRouting(view, routing, options_.max_p_value));
  return !data.empty();
}

}  // namespace eroica
