// Point to point: the k-th send i -> j meets the k-th receive at j. A receive mostly waits (FACTS
// 21: 99.7 %), a send mostly does not; the exposed time of the receives is the link of the chain by
// which diagnosis walks from a victim back to the rank that waited for nobody.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/collective_summary.h"
#include "stream_ops/align/member_rows.h"

namespace eroica {

// One use a window; the memory is kept from window to window.
class PairAlignment {
 public:
  // Fills summary->pairs and the fates of all rows that are point-to-point operations. A row that
  // names no peer cannot meet anything: unobserved.
  void Align(const MemberRows& rows, bool settle, CollectiveSummary* summary,
             std::span<RowFate> fates);

 private:
  enum Side : uint8_t { kSend = 0, kReceive = 1 };

  // All traffic from one rank to another.
  struct Pair {
    PairSummary summary;
    uint64_t next[2] = {0, 0};  // 1 + the last sequence number of each side
  };
  struct Meeting {
    uint32_t pair = 0;
    uint64_t sequence = 0;
    bool present[2] = {false, false};
    bool waited = false;  // a row of it was carried over
    int64_t exposed_ns[2] = {0, 0};
    int64_t duration_ns[2] = {0, 0};
    RowFate fate = RowFate::kAligned;
  };

  void Meet(const MemberRows& rows, std::span<RowFate> fates);
  void Judge(bool settle);

  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> pair_by_ranks_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint32_t> meeting_by_key_;  // (pair, sequence)
  std::vector<Pair> pairs_;
  std::vector<Meeting> meetings_;
  std::vector<std::pair<size_t, uint32_t>> meeting_of_row_;  // (row number, meeting)
};

}  // namespace eroica
