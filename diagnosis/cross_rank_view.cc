#include "diagnosis/cross_rank_view.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "diagnosis/role_learning.h"

namespace eroica {
namespace {

// Shares lie in [0, 1]; what a hostile payload makes of them does not reach the arithmetic of the operators.
float Share(double value) {
  if (!(value > 0)) return 0;  // negative and NaN
  return static_cast<float>(std::min(value, 1.0));
}

std::vector<RankView> RanksByNumber(std::span<const PatternBatch> batches) {
  std::vector<RankView> ranks;
  ranks.reserve(batches.size());
  for (const PatternBatch& batch : batches) ranks.push_back({.rank = batch.rank, .role = 0, .batch = &batch});
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankView& a, const RankView& b) { return a.rank < b.rank; });
  const auto same_rank = [](const RankView& a, const RankView& b) { return a.rank == b.rank; };
  ranks.erase(std::unique(ranks.begin(), ranks.end(), same_rank), ranks.end());
  return ranks;
}

void Append(FunctionColumn* column, RankIndex rank, const FunctionPattern& pattern) {
  const bool known = pattern.resource_samples > 0;
  column->rank.push_back(rank);
  column->beta.push_back(Share(pattern.beta));
  column->mu.push_back(known ? Share(pattern.mu) : 0);
  column->sigma.push_back(known ? Share(pattern.sigma) : 0);
  column->pattern.push_back(&pattern);
}

std::vector<FunctionColumn> ColumnsOf(std::span<const RankView> ranks) {
  std::vector<FunctionColumn> columns;
  std::unordered_map<FunctionId, uint32_t> position;
  for (RankIndex i = 0; i < ranks.size(); ++i) {
    if (ranks[i].batch->silent) continue;
    for (const FunctionPattern& pattern : ranks[i].batch->patterns) {
      const auto [it, inserted] = position.try_emplace(pattern.function, static_cast<uint32_t>(columns.size()));
      if (inserted) {
        columns.emplace_back();
        columns.back().function = pattern.function;
        columns.back().sample = &pattern;
      }
      FunctionColumn& column = columns[it->second];
      if (!column.rank.empty() && column.rank.back() == i) continue;  // the first row of a function counts
      Append(&column, i, pattern);
    }
  }
  std::sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) { return a.function < b.function; });
  return columns;
}

}  // namespace

CrossRankView::CrossRankView(std::span<const PatternBatch> batches, std::span<const CollectiveSummary> summaries,
                             std::span<const PatternBatch> history)
    : summaries_(summaries), history_(history) {
  if (!batches.empty()) {
    job_ = batches.front().job;
    window_kind_ = batches.front().window.kind;
    window_index_ = batches.front().window.index;
  }
  for (const PatternBatch& batch : batches) world_size_ = std::max(world_size_, batch.world_size);
  ranks_ = RanksByNumber(batches);
  functions_ = ColumnsOf(ranks_);
  const std::vector<uint32_t> roles = LearnRoles(ranks_, functions_, summaries_);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].role = roles[i];
    role_count_ = std::max(role_count_, roles[i] + 1);
  }
}

const RankView* CrossRankView::FindRank(RankId rank) const {
  const auto it = std::lower_bound(ranks_.begin(), ranks_.end(), rank, [](const RankView& a, RankId b) { return a.rank < b; });
  return it != ranks_.end() && it->rank == rank ? &*it : nullptr;
}

const FunctionColumn* CrossRankView::FindFunction(FunctionId function) const {
  const auto it = std::lower_bound(functions_.begin(), functions_.end(), function,
                                   [](const FunctionColumn& a, FunctionId b) { return a.function < b; });
  return it != functions_.end() && it->function == function ? &*it : nullptr;
}

}  // namespace eroica
