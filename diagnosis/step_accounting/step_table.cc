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

// What so many have seen is taken for what all have.
constexpr size_t kManyRanks = 64;

void Append(RankIndex rank, const StepRecord& step, size_t ranks, StepRow& row) {
  if (row.size() == kManyRanks) {
    row.rank.reserve(ranks);
    row.duration_ns.reserve(ranks);
    row.peer_wait_ns.reserve(ranks);
    for (std::vector<int64_t>& stage : row.stage_ns) stage.reserve(ranks);
  }
  row.marked = row.marked && IsMarked(step);
  row.rank.push_back(rank);
  row.duration_ns.push_back(step.duration_ns);
  row.peer_wait_ns.push_back(step.peer_wait_ns);
  for (size_t stage = 0; stage < kStepStageCount; ++stage) row.stage_ns[stage].push_back(step.stage_ns[stage]);
}

}  // namespace

std::vector<StepRow> LineUpSteps(const CrossRankView& view) {
  std::map<int64_t, StepRow> by_id;
  size_t reporting = 0;
  for (RankIndex rank = 0; rank < view.ranks().size(); ++rank) {
    if (!view.ranks()[rank].has_steps()) continue;
    ++reporting;
    auto next = by_id.begin();  // ranks list the same steps, in order
    for (const StepRecord& step : view.ranks()[rank].batch->steps) {
      if (!IsPossible(step)) continue;
      if (next == by_id.end() || next->first != step.id) next = by_id.try_emplace(step.id).first;
      StepRow& row = next->second;
      ++next;
      if (row.rank.empty() || row.rank.back() != rank) Append(rank, step, view.ranks().size(), row);  // the first record of a step counts
    }
  }
  std::vector<StepRow> rows;
  for (auto& [id, row] : by_id) {
    if (2 * row.size() < reporting) continue;
    row.id = id;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace eroica
