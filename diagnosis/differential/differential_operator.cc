#include "diagnosis/differential/differential_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "diagnosis/compute_growth.h"
#include "diagnosis/differential/function_excess.h"
#include "diagnosis/differential/localize.h"
#include "diagnosis/duration_text.h"
#include "diagnosis/robust_statistics.h"
#include "diagnosis/sampled_stacks.h"
#include "diagnosis/symptom.h"

namespace eroica {
namespace {

// What the rank works longer than its peers in all that is no symptom, in the units of
// ExcessOverPeers times `steps`.
double WorkExcess(const CrossRankView& view, RankIndex rank) {
  const auto by_class = ClassExcessOverPeers(view, rank);
  const double per_step =
      static_cast<double>(std::accumulate(by_class.begin(), by_class.end(), int64_t{0}));
  const size_t steps = view.ranks()[rank].batch->steps.size();
  return per_step * static_cast<double>(steps == 0 ? 1 : steps);
}

// of the excess, in the steps other than the slowest: what comes once is a pause
constexpr double kLeastLasting = 0.3;

// Whether the rank's kernels take longer for a reason that other operators say, or for none that
// lasts. They say it where the kernels as a whole tell why: a slow or shared device, larger inputs,
// hot experts; the function that differs most is no more than an example of that.
bool IsNoKernelsFault(const CrossRankView& view, RankIndex rank) {
  const std::vector<BusyTime>& all = view.busy_times();
  const auto busy = std::find_if(all.begin(), all.end(),
                                 [rank](const BusyTime& entry) { return entry.rank == rank; });
  if (busy == all.end()) return false;
  if (busy->excess_ns > 0 && busy->lasting_ns < kLeastLasting * busy->excess_ns) return true;
  return MeasureComputeGrowth(view, *busy).cause != GrowthCause::kUnclear;
}

std::string_view Name(PatternDimension dimension) {
  switch (dimension) {
    case PatternDimension::kBeta: return "share of the critical path (beta)";
    case PatternDimension::kMu: return "resource use (mu)";
    case PatternDimension::kSigma: return "variation of its resource use (sigma)";
  }
  return "pattern";
}

// Median over the others of its role, of which some may not run the function at all.
double ActiveStepsOfPeers(const CrossRankView& view, RankIndex rank, FunctionId function) {
  std::vector<double> steps(view.ranks().size(), 0);
  if (const FunctionColumn* column = view.FindFunction(function)) {
    for (size_t i = 0; i < column->size(); ++i)
      steps[column->rank[i]] = column->pattern[i]->active_steps;
  }
  std::vector<double> peers;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& other = view.ranks()[i];
    if (i != rank && other.role == view.ranks()[rank].role && !other.silent)
      peers.push_back(steps[i]);
  }
  return peers.empty() ? 0 : Median(std::span(peers));
}

Finding Describe(const CrossRankView& view, const DifferentialScore& score) {
  const RankView& rank = view.ranks()[score.rank];
  const PatternBatch& batch = *rank.batch;
  const FunctionPattern& pattern = *score.pattern;
  const double steps = batch.steps.empty() ? 1 : static_cast<double>(batch.steps.size());
  const auto d = static_cast<size_t>(score.dimension);
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = "function";
  finding.culprits = {
      {.rank = static_cast<int32_t>(rank.rank.value), .host = batch.host, .device = batch.device}};
  finding.function = pattern.name;
  finding.stack = pattern.stack;
  finding.function_class = pattern.function_class;
  finding.evidence = {
      {"differential_distance", "ratio", score.delta, score.delta_median, score.delta_threshold,
       score.sample_size},
      {"deviation", "ratio", score.deviation, 0, 0, score.peers},
      {"beta", "ratio", score.own[0], score.peers_median[0], 0, score.peers},
  };
  if (pattern.resource_samples > 0) {
    finding.evidence.push_back(
        {"mu", "ratio", score.own[1], score.peers_median[1], 0, pattern.resource_samples});
    finding.evidence.push_back(
        {"sigma", "ratio", score.own[2], score.peers_median[2], 0, pattern.resource_samples});
  }
  if (!batch.steps.empty()) {
    finding.evidence.push_back({"active_steps", "count", static_cast<double>(pattern.active_steps),
                                ActiveStepsOfPeers(view, score.rank, pattern.function), 0,
                                batch.steps.size()});
  }
  finding.lost_ns_per_step = static_cast<double>(score.critical_excess_ns) / steps;
  finding.first_step = batch.window.first_step;
  finding.last_step = batch.window.last_step;
  finding.confidence = 0.6;
  finding.title = fmt::format(
      "{} behaves on rank {} unlike on its {} peers: it takes {} longer in this window, its {} is "
      "{:.3g} against {:.3g}.",
      pattern.name, rank.rank.value, score.peers,
      DurationText(static_cast<double>(score.critical_excess_ns)), Name(score.dimension),
      static_cast<double>(score.own[d]), static_cast<double>(score.peers_median[d]));
  finding.explanation = fmt::format(
      "Of {} ranks of its role drawn as a sample, {} show another pattern of the function than "
      "rank {}; for a rank of the role that is {} "
      "(median).",
      score.sample_size, PercentText(score.delta), rank.rank.value,
      PercentText(score.delta_median));
  finding.suggested_action =
      fmt::format("Look at {} on rank {}: its inputs first, then its device and host.",
                  pattern.name, rank.rank.value);
  return finding;
}

// Whether sampled stacks may show so much more of the function by chance.
bool MayBeChanceOfSamples(const PatternBatch& batch, const DifferentialScore& score) {
  if (!IsSeenInStacks(*score.pattern)) return false;
  const auto own_ns = static_cast<double>(score.critical_ns);
  return SamplingErrorsBetween(own_ns, own_ns - static_cast<double>(score.critical_excess_ns),
                               SampleNs(batch)) < kSamplingErrors;
}

}  // namespace

void DifferentialOperator::Evaluate(const CrossRankView& view,
                                    std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size())
    return;
  std::set<RankIndex> claimed;  // scores come by excess: a rank's first is its largest
  for (const DifferentialScore& score : Localize(view, options_.comparison).scores) {
    if (score.pattern == nullptr || IsSymptom(*score.pattern) || claimed.contains(score.rank))
      continue;
    const PatternBatch& batch = *view.ranks()[score.rank].batch;
    const auto excess = static_cast<double>(score.critical_excess_ns);
    if (excess < options_.min_share * static_cast<double>(batch.window.duration_ns())) continue;
    if (batch.steps.size() < options_.min_steps && score.pattern->count < options_.min_executions)
      continue;
    if (MayBeChanceOfSamples(batch, score)) continue;
    if (WorkExcess(view, score.rank) < options_.min_work_share * excess) continue;
    if (score.pattern->function_class == FunctionClass::kGpuCompute &&
        IsNoKernelsFault(view, score.rank))
      continue;
    claimed.insert(score.rank);
    findings.push_back(Describe(view, score));
  }
}

}  // namespace eroica
