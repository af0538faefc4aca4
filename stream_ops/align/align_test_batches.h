// Batches for the tests of align, written by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schemas/collective_batch.h"
#include "schemas/time_unit.h"

namespace eroica {

inline const std::vector<uint32_t> kBoth = {0, 1};

inline Window TimeWindow(int64_t index) {
  constexpr int64_t kSize = 10'000 * kNsPerMs;
  return {.kind = WindowKind::kTime,
          .index = index,
          .start_ns = index * kSize,
          .end_ns = (index + 1) * kSize};
}

// One batch of communicator 7 of job "job", whose members are given.
inline CollectiveBatch BatchOf(uint32_t rank, int64_t window, std::vector<uint32_t> members,
                               std::vector<CollectiveRecord> records = {}) {
  CollectiveBatch batch;
  batch.job = JobId("job");
  batch.rank = RankId(rank);
  batch.world_size = 8;
  const auto size = static_cast<uint32_t>(members.size());
  batch.communicator = {.id = CommId(7),
                        .name = "dp",
                        .description = "data parallel",
                        .size = size,
                        .ranks = std::move(members)};
  batch.window = TimeWindow(window);
  batch.records = std::move(records);
  return batch;
}

// A collective that nothing hides, of the given length.
inline CollectiveRecord RowOf(CollectiveOperation operation, uint64_t sequence, int64_t duration_ms,
                              int64_t step = 0) {
  CollectiveRecord row;
  row.operation = operation;
  row.sequence = sequence;
  row.step = step;
  row.duration_ns = duration_ms * kNsPerMs;
  row.exposed_ns = row.duration_ns;
  row.bytes = 1'000;
  return row;
}

inline CollectiveRecord PairRow(CollectiveOperation operation, uint32_t peer, uint64_t sequence,
                                int64_t duration_ms) {
  CollectiveRecord row = RowOf(operation, sequence, duration_ms);
  row.peer = static_cast<int32_t>(peer);
  return row;
}

}  // namespace eroica
