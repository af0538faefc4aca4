// Collectives: the members' rows of one (operation, sequence number) meet, whatever the clocks say.
//
// All members leave a synchronizing collective together, because none can end before the last has
// brought its data. So a member's duration tells when it came: the longer, the earlier; the
// shortest came last, and what the others stayed longer is what they waited for it. Clocks are not
// compared.
//
//   wait           own duration - shortest duration
//   exposed wait   the same, but no more than the time in which nothing more important ran on the
//                  rank
//   last           the member with the shortest duration, if it is shorter than the next by more
//                  than 1 us and more than 1 % of that; a tie is nobody's
//   lateness       of the last: second shortest - own duration
//   caused wait    of the last: the sum of the others' exposed waits
//
// Rooted operations (broadcast, reduce, scatter, gather, and operations that we do not know)
// synchronize only in part: a broadcast's root sends and leaves, a reduce's leaves hand in and
// leave. A short duration alone says nothing there; the root of a broadcast would be late in every
// one. But where EVERY other member stays long behind the shortest one, all of them waited for it,
// root or not: the shortest is the last if it is shorter than the next by at least 1 ms, more than
// hand-over without waiting takes. Otherwise a rooted operation counts no wait at all.
//
// "All members" are those that reported for the window. A member that reported nothing is named in
// CollectiveSummary::missing; waits among the others are then a lower bound, and nobody is blamed
// for the missing member's lateness, as all of them waited for it equally.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/collective_summary.h"
#include "stream_ops/align/member_rows.h"

namespace eroica {

inline constexpr int64_t kTieNs = 1'000;
inline constexpr int64_t kTieDivisor = 100;
inline constexpr int64_t kRootedLatenessNs = 1'000'000;
inline constexpr size_t kBlockersMax = 8;  // of a member; those with the most caused wait are kept

// One use a window; the memory is kept from window to window.
class GroupAlignment {
 public:
  // Fills the collectives' part of *summary (members by rank must be there already) and the fates
  // of all rows that are no point-to-point operations.
  void Align(const MemberRows& rows, bool settle, CollectiveSummary* summary,
             std::span<RowFate> fates);

 private:
  struct Group {
    CollectiveOperation operation = CollectiveOperation::kUnknown;
    RowFate fate = RowFate::kAligned;
    bool waited = false;  // a row of it was carried over
    bool counts_waits = false;
    bool has_last = false;
    uint64_t sequence = 0;
    uint32_t joined = 0;     // members
    uint32_t reporting = 0;  // of them, those that reported for this window
    uint32_t newest = 0;     // 1 + the member that joined most recently
    uint32_t shortest_member = 0;
    int64_t shortest_ns = 0;
    int64_t second_ns = 0;
    const CollectiveBatch* shortest_batch = nullptr;
    const CollectiveRecord* shortest_row = nullptr;
    int64_t exposed_wait_ns = 0;  // of all members
    int64_t step = -1;
    uint64_t bytes = 0;
  };
  struct Progress {
    // 1 + the last sequence number that the slowest reporting member has joined
    std::array<uint64_t, kCollectiveOperationCount> next{};
  };

  uint32_t GroupOf(const CollectiveRecord& row);
  void Meet(const MemberRows& rows);
  void Join(uint32_t member, bool reported, const CollectiveBatch& batch,
            const CollectiveRecord& row, bool waited, Group* group);
  void Judge(const MemberRows& rows, bool settle);
  void CountRows(const MemberRows& rows, CollectiveSummary* summary, std::span<RowFate> fates);
  void CountGroups(CollectiveSummary* summary);
  void CountLateSteps(CollectiveSummary* summary);
  void CountBlockers(CollectiveSummary* summary);

  absl::flat_hash_map<std::pair<uint8_t, uint64_t>, uint32_t> group_by_key_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_row_;  // by row number; kNoGroup: point to point, kDuplicate
  // members run the same operations in the same order: the next row is of the next group
  uint32_t guess_ = 0;
  Progress slowest_;
};

}  // namespace eroica
