// The rows of one window of a communicator, member by member: what was carried over from the window
// before, then the window's own, in the order in which the rank started them. A view: the batches
// must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/collective_batch.h"

namespace eroica {

struct Member {
  RankId rank;
  const CollectiveBatch* carried = nullptr;
  const CollectiveBatch* own = nullptr;  // nullptr: the rank reported nothing for this window
};

class MemberRows {
 public:
  // Both: at most one batch a rank, ascending by rank.
  MemberRows(std::span<const CollectiveBatch> carried, std::span<const CollectiveBatch> own);

  const std::vector<Member>& members() const { return members_; }
  uint32_t reporting() const { return reporting_; }
  size_t size() const { return size_; }

  // visit(member index, batch, row, row number counted over all members).
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    size_t number = 0;
    for (uint32_t member = 0; member < members_.size(); ++member) {
      for (const CollectiveBatch* batch : {members_[member].carried, members_[member].own}) {
        if (batch == nullptr) continue;
        for (const CollectiveRecord& row : batch->records) visit(member, *batch, row, number++);
      }
    }
  }

 private:
  std::vector<Member> members_;
  uint32_t reporting_ = 0;
  size_t size_ = 0;
};

// What becomes of a row, see RowCounts.
enum class RowFate : uint8_t { kAligned, kIncomplete, kUnobserved, kDuplicate, kCarried };

// The fate of a row whose counterpart is not there. waited: it was carried over already; settle:
// there is no next window.
constexpr RowFate FateOfUnmatched(bool others_came_further, bool waited, bool settle) {
  if (others_came_further) return RowFate::kUnobserved;
  return waited || settle ? RowFate::kIncomplete : RowFate::kCarried;
}

}  // namespace eroica
