#include "diagnosis/imbalance/stage_work.h"

#include <algorithm>
#include <span>

#include "diagnosis/robust_statistics.h"
#include "diagnosis/symptom.h"

namespace eroica {
namespace {

bool RolesAreStages(const CrossRankView& view) {
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const PairSummary& pair : summary.pairs) {
      const RankView* source = view.FindRank(pair.source);
      const RankView* destination = view.FindRank(pair.destination);
      if (source != nullptr && destination != nullptr && source->role != destination->role) return true;
    }
  }
  return false;
}

double WorkOf(const PatternBatch& batch) {
  int64_t work = 0;
  for (const FunctionPattern& pattern : batch.patterns) {
    if (!IsSymptom(pattern)) work += pattern.critical_ns;
  }
  for (int c = 0; c < kFunctionClassCount; ++c) {
    if (static_cast<FunctionClass>(c) != FunctionClass::kCollective) work += batch.folded_critical_ns[static_cast<size_t>(c)];
  }
  return static_cast<double>(work) / static_cast<double>(batch.steps.size());
}

void Measure(const CrossRankView& view, StageWork& stage) {
  std::vector<double> work;
  double duration = 0;
  size_t steps = 0;
  for (const RankIndex member : stage.members) {
    const PatternBatch& batch = *view.ranks()[member].batch;
    work.push_back(WorkOf(batch));
    for (const StepRecord& step : batch.steps) duration += static_cast<double>(step.duration_ns);
    steps += batch.steps.size();
    stage.steps = std::max(stage.steps, static_cast<uint32_t>(batch.steps.size()));
  }
  stage.least_ns = *std::min_element(work.begin(), work.end());
  stage.work_ns = Median(std::span(work));
  stage.step_ns = duration / static_cast<double>(steps);
}

}  // namespace

std::vector<StageWork> MeasureStages(const CrossRankView& view) {
  if (!RolesAreStages(view)) return {};
  std::vector<StageWork> stages(view.role_count());
  for (RankIndex i = 0; i < view.ranks().size(); ++i) {
    const RankView& rank = view.ranks()[i];
    if (rank.batch->silent || rank.batch->steps.empty()) continue;
    StageWork& stage = stages[rank.role];
    stage.role = rank.role;
    stage.name = rank.batch->role.empty() ? "role " + std::to_string(rank.role) : rank.batch->role;
    stage.members.push_back(i);
  }
  std::erase_if(stages, [](const StageWork& stage) { return stage.members.empty(); });
  for (StageWork& stage : stages) Measure(view, stage);
  return stages;
}

}  // namespace eroica
