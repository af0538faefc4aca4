#include "stream_ops/align/collective_alignment.h"

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica {
namespace {

CollectiveSummary SummaryWithMembers(const AlignmentInput& input, const MemberRows& rows) {
  CollectiveSummary summary;
  summary.window = input.window;
  for (const Member& member : rows.members()) {
    const CollectiveBatch& batch = member.own != nullptr ? *member.own : *member.carried;
    summary.job = batch.job;
    summary.communicator = batch.communicator.id;
    if (summary.communicator_name.empty()) summary.communicator_name = batch.communicator.name;
    if (summary.communicator_description.empty())
      summary.communicator_description = batch.communicator.description;
    summary.world_size = std::max(summary.world_size, batch.world_size);
    summary.members.emplace_back().rank = member.rank;
  }
  return summary;
}

// Collects the rows that go on to the next window. Only a window's own rows do, never those that
// were carried already.
class Carrier {
 public:
  void Carry(const CollectiveBatch& from, const CollectiveRecord& row) {
    if (from_ != &from) Begin(from);
    CollectiveBatch& to = carried_.back();
    to.records.push_back(row);
    if (row.before == 0 || row.before > renumbered_.size()) {
      to.records.back().before = 0;
      return;
    }
    uint32_t& before = renumbered_[row.before - 1];
    if (before == 0) {
      to.predecessors.push_back(from.predecessors[row.before - 1]);
      before = static_cast<uint32_t>(to.predecessors.size());
    }
    to.records.back().before = before;
  }
  std::vector<CollectiveBatch> Take() { return std::move(carried_); }

 private:
  void Begin(const CollectiveBatch& from) {
    from_ = &from;
    renumbered_.assign(from.predecessors.size(), 0);
    CollectiveBatch& to = carried_.emplace_back();
    to.job = from.job;
    to.rank = from.rank;
    to.world_size = from.world_size;
    to.communicator = from.communicator;
    to.window = from.window;
  }

  const CollectiveBatch* from_ = nullptr;
  // by predecessor of from_: 1 + its index in the carried batch; 0: not there yet
  std::vector<uint32_t> renumbered_;
  std::vector<CollectiveBatch> carried_;
};

void Count(RowFate fate, RowCounts* counts) {
  switch (fate) {
    case RowFate::kAligned: ++counts->aligned; return;
    case RowFate::kIncomplete: ++counts->incomplete; return;
    case RowFate::kUnobserved: ++counts->unobserved; return;
    case RowFate::kDuplicate: ++counts->duplicate; return;
    case RowFate::kCarried: ++counts->carried; return;
  }
}

}  // namespace

Alignment CollectiveAligner::Align(AlignmentInput input) {
  EROICA_CHECK(!input.batches.empty() || !input.carried.empty());
  const MemberRows rows(input.carried, input.batches);
  Alignment result;
  result.summary = SummaryWithMembers(input, rows);
  result.summary.missing = std::move(input.missing);
  fates_.assign(rows.size(), RowFate::kAligned);
  groups_.Align(rows, input.settle, &result.summary, fates_);
  pairs_.Align(rows, input.settle, &result.summary, fates_);
  result.cuts = CutToLimits({}, &result.summary);
  Carrier carrier;
  rows.ForEach(
      [&](uint32_t, const CollectiveBatch& batch, const CollectiveRecord& row, size_t number) {
        Count(fates_[number], &result.rows);
        if (fates_[number] == RowFate::kCarried) carrier.Carry(batch, row);
      });
  result.carried = carrier.Take();
  EROICA_CHECK(result.rows.total() == rows.size());
  return result;
}

}  // namespace eroica
