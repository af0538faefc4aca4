#include "diagnosis/differential/localize.h"

#include <algorithm>
#include <array>

#include "diagnosis/differential/role_comparer.h"
#include "diagnosis/differential/shared_sample.h"

namespace eroica {
namespace {

// Rows of one column sorted by role, so that each role is contiguous. Memory is recycled from
// column to column, and so is the order where the next column has the same ranks. Columns must live
// as long as this.
class RowsByRole {
 public:
  RowsByRole(std::span<const uint32_t> role, uint32_t role_count)
      : role_(role), members_(role_count, 0), begin_(role_count + 1, 0) {
    for (const uint32_t r : role) {
      if (r < role_count) ++members_[r];
    }
    const bool all_peers = members_.size() == 1 && members_.front() == role.size();
    one_role_ = all_peers;
  }

  void Sort(const FunctionColumn& column) {
    const FunctionColumn* last = column_;
    column_ = &column;
    if (one_role_) return;
    if (last == nullptr || last->rank != column.rank)
      SortRows(column.rank);  // most functions run on all ranks
    const std::array<const float*, kPatternDimensions> from{column.beta.data(), column.mu.data(),
                                                            column.sigma.data()};
    for (auto& values : gathered_) values.resize(row_.size());
    for (size_t i = 0; i < row_.size(); ++i) {
      const uint32_t row = row_[i];
      for (size_t d = 0; d < kPatternDimensions; ++d) gathered_[d][i] = from[d][row];
    }
  }

  RoleRows Of(uint32_t role) const {
    RoleRows rows{.function = column_,
                  .role = role,
                  .members = members_[role],
                  .row = {},
                  .columns = {},
                  .rows = column_->size()};
    rows.columns = {column_->beta.data(), column_->mu.data(), column_->sigma.data()};
    if (one_role_) return rows;
    rows.rows = begin_[role + 1] - begin_[role];
    rows.row = std::span(row_).subspan(begin_[role], rows.rows);
    for (size_t d = 0; d < kPatternDimensions; ++d)
      rows.columns[d] = gathered_[d].data() + begin_[role];
    return rows;
  }

 private:
  void SortRows(std::span<const RankIndex> ranks) {
    std::fill(begin_.begin(), begin_.end(), 0u);
    for (const RankIndex rank : ranks) {
      if (role_[rank] < members_.size()) ++begin_[role_[rank] + 1];
    }
    for (size_t r = 1; r < begin_.size(); ++r) begin_[r] += begin_[r - 1];
    row_.resize(begin_.back());
    next_.assign(begin_.begin(), begin_.end() - 1);
    for (uint32_t i = 0; i < ranks.size(); ++i) {
      const uint32_t r = role_[ranks[i]];
      if (r < members_.size()) row_[next_[r]++] = i;
    }
  }

  std::span<const uint32_t> role_;
  std::vector<uint32_t> members_;
  bool one_role_ = false;
  const FunctionColumn* column_ = nullptr;
  std::vector<uint32_t> begin_;
  std::vector<uint32_t> next_;
  std::vector<uint32_t> row_;
  std::array<std::vector<float>, kPatternDimensions> gathered_;
};

}  // namespace

DifferentialResult Localize(const DifferentialInput& input, const DifferentialOptions& options) {
  DifferentialResult result;
  RowsByRole rows(input.role, input.role_count);
  RoleComparer comparer(options);
  for (const FunctionColumn& column : input.functions) {
    if (column.size() == 0) continue;
    const ExpectationRange& range =
        options.RangeOf(column.sample->function_class, column.sample->wait, input.host_only);
    rows.Sort(column);
    for (uint32_t role = 0; role < input.role_count; ++role) {
      comparer.Compare(rows.Of(role), range,
                       MixSeed(MixSeed(input.seed, column.function.value), role), &result);
    }
  }
  std::sort(result.scores.begin(), result.scores.end(), WorseThan);
  return result;
}

DifferentialResult Localize(const CrossRankView& view, const DifferentialOptions& options) {
  std::vector<uint32_t> role;
  role.reserve(view.ranks().size());
  size_t host_only = 0;
  for (const RankView& rank : view.ranks()) {
    role.push_back(rank.silent ? DifferentialInput::kNoRole : rank.role);
    host_only += rank.batch->host_only ? 1 : 0;
  }
  uint64_t seed = MixSeed(0, view.job().value);
  seed = MixSeed(seed, static_cast<uint64_t>(view.window_kind()));
  seed = MixSeed(seed, static_cast<uint64_t>(view.window_index()));
  const DifferentialInput input{.functions = view.functions(),
                                .role = role,
                                .role_count = view.role_count(),
                                .host_only = 2 * host_only > view.ranks().size(),
                                .seed = seed};
  return Localize(input, options);
}

}  // namespace eroica
