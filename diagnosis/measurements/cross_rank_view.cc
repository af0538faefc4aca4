#include "diagnosis/measurements/cross_rank_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/device_calls.h"
#include "diagnosis/measurements/exchanged_bytes.h"
#include "diagnosis/measurements/host_ranks.h"
#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "diagnosis/measurements/role_learning.h"
#include "diagnosis/statistics/prefetch.h"
#include "schemas/hidden_row.h"

namespace eroica {
namespace {

// Shares lie in [0, 1]; what a hostile payload makes of them does not reach the arithmetic of the
// operators.
float Share(double value) {
  if (!(value > 0)) return 0;  // negative and NaN
  return static_cast<float>(std::min(value, 1.0));
}

std::vector<RankView> RanksByNumber(std::span<const PatternBatch> batches) {
  std::vector<RankView> ranks;
  ranks.reserve(batches.size());
  for (const PatternBatch& batch : batches)
    ranks.push_back(
        {.rank = batch.rank, .role = 0, .batch = &batch, .step = {}, .silent = batch.silent});
  if (!std::ranges::is_sorted(ranks, {}, &RankView::rank))
    std::ranges::stable_sort(ranks, {}, &RankView::rank);
  const auto same_rank = [](const RankView& a, const RankView& b) { return a.rank == b.rank; };
  ranks.erase(std::unique(ranks.begin(), ranks.end(), same_rank), ranks.end());
  return ranks;
}

// Gives each rank its mean step, and back what all of them took.
std::vector<StepRecord> LookAtSteps(std::span<RankView> ranks) {
  constexpr size_t kAhead = 2;  // ranks whose steps are asked for while those of one are read
  TypicalSteps typical(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i + kAhead < ranks.size()) {
      for (const StepRecord& step : ranks[i + kAhead].batch->steps) Prefetch(&step.peer_wait_ns);
    }
    ranks[i].step = MeanStepOf(*ranks[i].batch);
    typical.Add(*ranks[i].batch);
  }
  return typical.Take();
}

// Fills the columns rank after rank. Ranks mostly list the same functions in the same order, so
// that a row belongs to the column after that of the row before. Rows of some ranks are gathered
// before they are put into the columns, so that these are written in long pieces.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(size_t ranks) : ranks_(ranks) {}

  // The rows of one rank far outgrow the caches: memory is asked for those of the next while these
  // are taken.
  void Add(RankIndex rank, const PatternBatch& batch, std::span<const FunctionPattern> next) {
    const std::span<const FunctionPattern> patterns = batch.patterns;
    const int64_t window_ns = batch.window.duration_ns();
    uint32_t previous = 0;
    for (size_t i = 0; i < patterns.size(); ++i) {
      const FunctionPattern& pattern = patterns[i];
      if (i < next.size()) {
        Prefetch(&next[i].function);
        Prefetch(&next[i].function_class);
        Prefetch(&next[i].duration_mean_ns);
      }
      if (IsHidden(pattern.function_class, pattern.wait, pattern.critical_ns, pattern.total_ns,
                   window_ns))
        continue;
      const uint32_t position = Find(pattern, previous);
      previous = position;
      Rows& rows = rows_[position];
      if (rows.count > 0 && rows.rank[rows.count - 1] == rank)
        continue;  // the first row of a function counts
      rows.Append(rank, pattern);
    }
    if (++gathered_ == kGathered) PutAway();
  }

  std::vector<FunctionColumn> Take() {
    PutAway();
    std::sort(columns_.begin(), columns_.end(),
              [](const auto& a, const auto& b) { return a.function < b.function; });
    return std::move(columns_);
  }

 private:
  static constexpr uint32_t kGathered = 32;  // ranks
  static constexpr size_t kManyRanks = 64;   // what so many ran is taken for what all run

  // Of one function on the ranks since the last PutAway().
  struct Rows {
    uint32_t count = 0;
    std::array<RankIndex, kGathered> rank;
    std::array<float, kGathered> beta;
    std::array<float, kGathered> call_ns;
    std::array<int64_t, kGathered> critical_ns;
    std::array<const FunctionPattern*, kGathered> pattern;

    void Append(RankIndex of, const FunctionPattern& row) {
      rank[count] = of;
      beta[count] = Share(row.beta);
      call_ns[count] = static_cast<float>(row.duration_mean_ns);
      critical_ns[count] = row.critical_ns;
      pattern[count] = &row;
      ++count;
    }
  };

  uint32_t Find(const FunctionPattern& pattern, uint32_t previous) {
    for (const uint32_t guess : {previous + 1, 0u}) {
      if (guess < columns_.size() && columns_[guess].function == pattern.function) return guess;
    }
    const auto [it, inserted] =
        position_.try_emplace(pattern.function, static_cast<uint32_t>(columns_.size()));
    if (inserted) {
      columns_.emplace_back();
      columns_.back().function = pattern.function;
      columns_.back().sample = &pattern;
      rows_.emplace_back();
    }
    return it->second;
  }

  void PutAway() {
    gathered_ = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      FunctionColumn& column = columns_[i];
      Rows& rows = rows_[i];
      const size_t size = column.size() + rows.count;
      const auto put = [&](const auto& values, auto& into) {
        if (size > kManyRanks) into.reserve(ranks_);
        into.insert(into.end(), values.begin(), values.begin() + rows.count);
      };
      put(rows.rank, column.rank);
      put(rows.beta, column.beta);
      put(rows.call_ns, column.call_ns);
      put(rows.critical_ns, column.critical_ns);
      put(rows.pattern, column.pattern);
      rows.count = 0;
    }
  }

  const size_t ranks_;
  uint32_t gathered_ = 0;                // ranks
  std::vector<FunctionColumn> columns_;  // in the order in which they were met
  std::vector<Rows> rows_;               // likewise
  std::unordered_map<FunctionId, uint32_t> position_;
};

std::vector<FunctionColumn> ColumnsOf(std::span<const RankView> ranks) {
  constexpr size_t kAhead = 4;  // ranks; of the next one the rows are asked for
  ColumnBuilder builder(ranks.size());
  for (RankIndex i = 0; i < ranks.size(); ++i) {
    if (ranks[i].silent) continue;
    if (i + kAhead < ranks.size()) Prefetch(&ranks[i + kAhead].batch->patterns);
    const bool last = i + 1 == ranks.size();
    builder.Add(
        i, *ranks[i].batch,
        last ? std::span<const FunctionPattern>() : std::span(ranks[i + 1].batch->patterns));
  }
  return builder.Take();
}

}  // namespace

CrossRankView::CrossRankView(std::span<const PatternBatch> batches,
                             std::span<const CollectiveSummary> summaries, const PastWindows& past)
    : summaries_(summaries), past_(past) {
  if (!batches.empty()) {
    job_ = batches.front().job;
    window_kind_ = batches.front().window.kind;
    window_index_ = batches.front().window.index;
  }
  for (const PatternBatch& batch : batches) world_size_ = std::max(world_size_, batch.world_size);
  ranks_ = RanksByNumber(batches);
  std::vector<StepRecord> typical_steps = LookAtSteps(ranks_);
  functions_ = ColumnsOf(ranks_);
  const std::vector<uint32_t> learned = LearnRoles(ranks_, functions_, summaries_);
  const std::vector<uint32_t> roles = RolesOfJob(
      ranks_, Uninterrupted(past.times, window_kind_, window_index_, world_size_), learned);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].role = roles[i];
    role_count_ = std::max(role_count_, roles[i] + 1);
  }
  hosts_ = std::make_shared<const std::vector<HostRanks>>(HostsOf(ranks_));
  busy_times_ = std::make_shared<const std::vector<BusyTime>>(CompareBusyTime(ranks_, role_count_));
  profile_ = std::make_shared<const PatternBatch>(ProfileOf(*this, std::move(typical_steps)));
  RankTimes times = RankTimesOf(*this);
  times.roles = EncodeRoles(ranks_, learned);
  times.processes = FingerprintOfProcesses(ranks_);
  times.device_calls = DeviceCallsOf(*this);
  rank_times_ = std::make_shared<const RankTimes>(std::move(times));
  work_times_ = std::make_shared<const RankTimes>(WorkTimesOf(*this));
  exchanged_ = std::make_shared<const RankTimes>(ExchangedOf(*this));
  lasting_excess_ = std::make_shared<const std::vector<BusyTime>>(
      FindLastingExcess(ranks_, role_count_, past.times, *rank_times_));
}

const RankView* CrossRankView::FindRank(RankId rank) const {
  const auto it = std::lower_bound(ranks_.begin(), ranks_.end(), rank,
                                   [](const RankView& a, RankId b) { return a.rank < b; });
  return it != ranks_.end() && it->rank == rank ? &*it : nullptr;
}

const FunctionColumn* CrossRankView::FindFunction(FunctionId function) const {
  const auto it =
      std::lower_bound(functions_.begin(), functions_.end(), function,
                       [](const FunctionColumn& a, FunctionId b) { return a.function < b; });
  return it != functions_.end() && it->function == function ? &*it : nullptr;
}

bool LacksMembers(const CrossRankView& view) {
  return view.ranks().size() < view.world_size() ||
         std::ranges::any_of(view.ranks(), &RankView::silent) ||
         std::ranges::any_of(view.summaries(), [](const CollectiveSummary& summary) {
           return !summary.missing.empty();
         });
}

std::pair<int64_t, int64_t> TimesOf(const CrossRankView& view) {
  std::pair<int64_t, int64_t> times{std::numeric_limits<int64_t>::max(), 0};
  for (const RankView& rank : view.ranks()) {
    if (rank.silent) continue;
    times.first = std::min(times.first, rank.batch->window.start_ns);
    times.second = std::max(times.second, rank.batch->window.end_ns);
  }
  return times.first <= times.second ? times : std::pair<int64_t, int64_t>{0, 0};
}

double WindowLength(const CrossRankView& view) {
  double sum = 0;
  for (const RankView& rank : view.ranks())
    sum += static_cast<double>(rank.batch->window.duration_ns());
  return view.ranks().empty() ? 0 : sum / static_cast<double>(view.ranks().size());
}

}  // namespace eroica
