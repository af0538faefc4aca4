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

// Steps of ranks, one step of all of them at a time.
class StepsSideBySide {
 public:
  explicit StepsSideBySide(const CrossRankView& view) {
    for (RankIndex rank = 0; rank < view.ranks().size(); ++rank) {
      if (!view.ranks()[rank].has_steps()) continue;
      const std::vector<StepRecord>& steps = view.ranks()[rank].batch->steps;
      alike_ = alike_ && (row_.rank.empty() || steps.size() == count_);
      count_ = steps.size();
      row_.rank.push_back(rank);
      records_.push_back(steps.data());
    }
    row_.duration_ns.resize(row_.size());
    row_.peer_wait_ns.resize(row_.size());
    for (std::vector<int64_t>& stage : row_.stage_ns) stage.resize(row_.size());
  }

  size_t count() const { return alike_ ? count_ : 0; }  // of steps
  bool alike() const { return alike_; }
  const StepRow& row() const { return row_; }

  // Whether all ranks report the same, after what they reported before, and as can be.
  bool Take(size_t step) {
    constexpr size_t kAhead = 16;  // ranks whose records are asked for while these are read
    const int64_t id = records_.front()[step].id;
    bool alike = step == 0 || id > row_.id;
    row_.id = id;
    bool marked = true;
    for (size_t i = 0; i < records_.size() && alike; ++i) {
      const StepRecord& record = records_[i][step];
      const StepRecord& ahead = records_[std::min(i + kAhead, records_.size() - 1)][step];
      __builtin_prefetch(&ahead.id);
      __builtin_prefetch(&ahead.pause);
      alike = record.id == id && IsPossible(record);
      marked = marked && IsMarked(record);
      row_.duration_ns[i] = record.duration_ns;
      row_.peer_wait_ns[i] = record.peer_wait_ns;
      for (size_t stage = 0; stage < kStepStageCount; ++stage) row_.stage_ns[stage][i] = record.stage_ns[stage];
    }
    row_.marked = marked;
    return alike;
  }

 private:
  StepRow row_;
  std::vector<const StepRecord*> records_;  // of the first step, as row_.rank
  size_t count_ = 0;
  bool alike_ = true;
};

}  // namespace

bool VisitSteps(const CrossRankView& view, const std::function<bool(const StepRow&)>& take) {
  StepsSideBySide steps(view);
  for (size_t step = 0; step < steps.count(); ++step) {
    if (!steps.Take(step)) return false;
    if (!take(steps.row())) break;
  }
  return steps.alike();
}

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

bool HasSteps(const CrossRankView& view) {
  bool any = false;
  const auto look = [&any](const StepRow&) {
    any = true;
    return false;
  };
  const bool told = VisitSteps(view, look);
  return any || (!told && !LineUpSteps(view).empty());
}

}  // namespace eroica
