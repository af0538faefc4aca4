#include "diagnosis/imbalance/imbalance_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "diagnosis/duration_text.h"
#include "diagnosis/imbalance/stage_work.h"
#include "diagnosis/robust_statistics.h"
#include "diagnosis/symptom.h"

namespace eroica {
namespace {

std::string RanksText(const CrossRankView& view, const std::vector<RankIndex>& members) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(members.size(), 8); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", view.ranks()[members[i]].rank.value);
  }
  if (members.size() > 8) text += fmt::format(" and {} more", members.size() - 8);
  return text;
}

// What the heaviest stage spends most work in.
const FunctionPattern* HeaviestFunction(const PatternBatch& batch) {
  const FunctionPattern* heaviest = nullptr;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (IsSymptom(pattern)) continue;
    if (heaviest == nullptr || pattern.critical_ns > heaviest->critical_ns) heaviest = &pattern;
  }
  return heaviest;
}

std::vector<Victim> VictimsOf(const CrossRankView& view, const StageWork& heavy, double excess_ns) {
  std::vector<Victim> victims;
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const PatternBatch& batch = *view.ranks()[i].batch;
    if (view.ranks()[i].role == heavy.role || batch.steps.empty()) continue;
    int64_t wait_ns = 0;
    for (const StepRecord& step : batch.steps) wait_ns += step.peer_wait_ns;
    const double steps = static_cast<double>(batch.steps.size());
    const double lost = std::min(static_cast<double>(wait_ns) / steps, excess_ns);
    victims.push_back({.rank = view.ranks()[i].rank, .lost_ns = static_cast<int64_t>(lost * steps), .lost_ns_per_step = lost});
  }
  return victims;
}

Finding DescribeStage(const CrossRankView& view, const StageWork& heavy, double others_ns, size_t stages, const ImbalanceOptions& options) {
  const PatternBatch& batch = *view.ranks()[heavy.members.front()].batch;
  const double excess = heavy.work_ns - others_ns;
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.subkind = "stage";
  finding.victims = VictimsOf(view, heavy, excess);
  if (const FunctionPattern* function = HeaviestFunction(batch)) {
    finding.function = function->name;
    finding.stack = function->stack;
    finding.function_class = function->function_class;
  }
  finding.evidence = {
      {"work_per_step", "ns", heavy.work_ns, others_ns, options.min_stage_ratio * others_ns, heavy.steps},
      {"work_ratio", "ratio", heavy.work_ns / others_ns, 1, options.min_stage_ratio, heavy.steps},
      {"stages", "count", 1, static_cast<double>(stages - 1), static_cast<double>(options.min_stages), stages},
  };
  finding.lost_ns_per_step = excess;
  finding.first_step = batch.steps.front().id;
  finding.last_step = batch.steps.back().id;
  finding.confidence = 0.9 * heavy.steps / (heavy.steps + 1.0);
  finding.title = fmt::format("Pipeline {} (ranks {}) is too heavy: {} of work a step against {} on the other {} stages ({:.2f} times), of a step of {}.",
                              heavy.name, RanksText(view, heavy.members), DurationText(heavy.work_ns), DurationText(others_ns), stages - 1,
                              heavy.work_ns / others_ns, DurationText(heavy.step_ns));
  finding.explanation = fmt::format(
      "All {} ranks of the stage carry the same load ({} at least), so no rank or machine is slow: the layers are shared out unevenly. The other "
      "stages wait for this one in every step.",
      heavy.members.size(), DurationText(heavy.least_ns));
  finding.suggested_action = "Move layers from this stage to the others (the last one also holds the head and the loss), or shard the head.";
  return finding;
}

}  // namespace

void ImbalanceOperator::EvaluateStages(const CrossRankView& view, std::vector<Finding>& findings) const {
  const std::vector<StageWork> stages = MeasureStages(view);
  if (stages.size() < options_.min_stages) return;
  const StageWork& heavy =
      *std::max_element(stages.begin(), stages.end(), [](const StageWork& a, const StageWork& b) { return a.work_ns < b.work_ns; });
  std::vector<double> others;
  for (const StageWork& stage : stages) {
    if (stage.role != heavy.role) others.push_back(stage.work_ns);
  }
  const auto [least, most] = std::minmax_element(others.begin(), others.end());
  const double others_ns = Median(std::span(others));
  const double spread = std::max(*most - *least, 0.02 * others_ns);
  const double excess = heavy.work_ns - others_ns;
  if (heavy.steps < options_.min_steps || others_ns <= 0 || heavy.work_ns < options_.min_stage_ratio * others_ns) return;
  if (heavy.least_ns < options_.min_stage_ratio * others_ns) return;  // one member alone is heavy: that is a slow rank
  if (excess < options_.min_stage_gap * spread || excess < options_.min_stage_share * heavy.step_ns) return;
  findings.push_back(DescribeStage(view, heavy, others_ns, stages.size(), options_));
}

void ImbalanceOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  if (static_cast<double>(view.ranks().size()) < options_.min_ranks_seen * view.world_size()) return;
  EvaluateStages(view, findings);
  if (!EvaluateGrowth(view, findings)) EvaluateData(view, findings);
}

}  // namespace eroica
