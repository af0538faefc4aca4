#include "diagnosis/step_accounting/step_table.h"

#include <algorithm>
#include <map>

namespace eroica {
namespace {

// The parts lie in [0, duration], so that their sum cannot overflow, whatever a payload says.
bool IsMarked(const StepRecord& step) {
  int64_t left = step.duration_ns;
  for (const int64_t part : step.stage_ns) {
    if (part < 0 || part > left) return false;
    left -= part;
  }
  return left == 0;
}

// No step takes a day: sums of what hostile payloads say do not overflow.
constexpr int64_t kLongestStepNs = 24 * int64_t{3'600'000'000'000};

bool IsPossible(const StepRecord& step) {
  return step.duration_ns > 0 && step.duration_ns < kLongestStepNs && step.peer_wait_ns >= 0 && step.peer_wait_ns <= step.duration_ns;
}

}  // namespace

std::vector<StepRow> LineUpSteps(const CrossRankView& view) {
  std::map<int64_t, StepRow> by_id;
  size_t reporting = 0;
  for (RankIndex rank = 0; rank < view.ranks().size(); ++rank) {
    const PatternBatch& batch = *view.ranks()[rank].batch;
    if (batch.silent || batch.steps.empty()) continue;
    ++reporting;
    for (const StepRecord& step : batch.steps) {
      if (!IsPossible(step)) continue;
      StepRow& row = by_id[step.id];
      if (!row.ranks.empty() && row.ranks.back().rank == rank) continue;  // the first record of a step counts
      row.ranks.push_back({rank, step});
    }
  }
  std::vector<StepRow> rows;
  for (auto& [id, row] : by_id) {
    if (2 * row.ranks.size() < reporting) continue;
    row.id = id;
    row.marked = std::all_of(row.ranks.begin(), row.ranks.end(), [](const RankStep& step) { return IsMarked(step.record); });
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace eroica
