#include "diagnosis/step_accounting/step_table.h"

#include <algorithm>
#include <map>
#include <span>

#include "diagnosis/statistics/prefetch.h"

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
  return step.duration_ns > 0 && step.duration_ns < kLongestStepNs && step.peer_wait_ns >= 0 &&
         step.peer_wait_ns <= step.duration_ns;
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
  for (size_t stage = 0; stage < kStepStageCount; ++stage)
    row.stage_ns[stage].push_back(step.stage_ns[stage]);
}

// Steps of ranks, a few steps of all of them at a time: those of one rank lie together, far from
// those of the next.
class StepsSideBySide {
 public:
  static constexpr size_t kTogether = 2;

  explicit StepsSideBySide(const CrossRankView& view) {
    StepRow row;
    for (RankIndex rank = 0; rank < view.ranks().size(); ++rank) {
      if (!view.ranks()[rank].has_steps()) continue;
      const std::vector<StepRecord>& steps = view.ranks()[rank].batch->steps;
      same_count_ = same_count_ && (row.rank.empty() || steps.size() == count_);
      count_ = steps.size();
      row.rank.push_back(rank);
      records_.push_back(steps.data());
    }
    rows_.resize(std::min(count_, kTogether));
    for (StepRow& of_step : rows_) {
      of_step.rank = row.rank;
      of_step.duration_ns.resize(row.size());
      of_step.peer_wait_ns.resize(row.size());
      for (std::vector<int64_t>& stage : of_step.stage_ns) stage.resize(row.size());
    }
  }

  size_t count() const { return same_count_ ? count_ : 0; }  // of steps
  bool same_count() const { return same_count_; }

  // From the given step on. Only those that all ranks report the same, after what they reported
  // before, and as can be: fewer where one is not so.
  std::span<const StepRow> Take(size_t first) {
    constexpr size_t kAhead = 16;  // ranks whose records are asked for while these are read
    const size_t steps = std::min(kTogether, count_ - first);
    size_t common = 0;
    for (; common < steps; ++common) {
      StepRow& row = rows_[common];
      const int64_t id = records_.front()[first + common].id;
      if (first + common > 0 && id <= records_.front()[first + common - 1].id) break;
      row.id = id;
      row.marked = true;
    }
    for (size_t i = 0; i < records_.size(); ++i) {
      const StepRecord* ahead = records_[std::min(i + kAhead, records_.size() - 1)] + first;
      for (size_t step = 0; step < steps; ++step) Prefetch(&ahead[step].id);
      Prefetch(&ahead[steps - 1].pause);  // a record may lie in two cache lines
      common = Put(std::span(records_[i] + first, common), i);
    }
    return std::span(rows_).first(common);
  }

 private:
  // How many of the records of a rank, at its position, go with the rows.
  size_t Put(std::span<const StepRecord> records, size_t i) {
    for (size_t step = 0; step < records.size(); ++step) {
      const StepRecord& record = records[step];
      StepRow& row = rows_[step];
      if (record.id != row.id || !IsPossible(record)) return step;
      row.marked = row.marked && IsMarked(record);
      row.duration_ns[i] = record.duration_ns;
      row.peer_wait_ns[i] = record.peer_wait_ns;
      for (size_t stage = 0; stage < kStepStageCount; ++stage)
        row.stage_ns[stage][i] = record.stage_ns[stage];
    }
    return records.size();
  }

  std::vector<StepRow> rows_;               // of the same ranks
  std::vector<const StepRecord*> records_;  // of the first step, as StepRow::rank
  size_t count_ = 0;
  bool same_count_ = true;
};

}  // namespace

bool VisitSteps(const CrossRankView& view, const std::function<bool(const StepRow&)>& take) {
  StepsSideBySide steps(view);
  for (size_t first = 0; first < steps.count(); first += StepsSideBySide::kTogether) {
    const std::span<const StepRow> rows = steps.Take(first);
    for (const StepRow& row : rows) {
      if (!take(row)) return true;
    }
    if (rows.size() < std::min(StepsSideBySide::kTogether, steps.count() - first)) return false;
  }
  return steps.same_count();
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
      if (row.rank.empty() || row.rank.back() != rank)
        Append(rank, step, view.ranks().size(), row);  // the first record of a step counts
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
