// Rules shared by progress reports and rank standings. Included by *_invariants.cc only.
#pragma once

#include <tuple>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/violation.h"

namespace eroica {

inline void CheckCommunicators(const std::vector<Communicator>& communicators, uint32_t world_size,
                               Violation& violation) {
  violation.RequireRows(communicators.size(), CodecLimits::kCommunicators);
  for (const Communicator& communicator : communicators) {
    violation.RequireRows(communicator.ranks.size(), CodecLimits::kRanks);
    violation.RequireEnum(communicator.library, kCollectiveLibraryCount);
    for (const uint32_t rank : communicator.ranks) violation.RequireIndex(rank, world_size);
  }
}

inline void CheckInFlight(const std::vector<InFlightCollective>& rows, size_t communicators,
                          uint32_t world_size, Violation& violation) {
  violation.RequireRows(rows.size(), CodecLimits::kIntervals);
  for (const InFlightCollective& row : rows) {
    violation.RequireIndex(row.communicator, communicators);
    violation.RequireEnum(row.operation, kCollectiveOperationCount);
    violation.RequirePeer(row.peer, world_size);
    violation.RequireTime(row.launched_ns);
  }
  violation.RequireSorted(rows, [](const InFlightCollective& row) {
    return std::tuple(row.communicator, row.operation, row.peer, row.sequence);
  });
}

inline void CheckOperations(const std::vector<OperationCount>& rows, size_t communicators,
                            uint32_t world_size, Violation& violation) {
  violation.RequireRows(rows.size(), CodecLimits::kIntervals);
  for (const OperationCount& row : rows) {
    violation.RequireIndex(row.communicator, communicators);
    violation.RequireEnum(row.operation, kCollectiveOperationCount);
    violation.RequirePeer(row.peer, world_size);
    violation.Require(row.completed <= row.launched, DropReason::kValueOutOfRange);
  }
  violation.RequireSorted(rows, [](const OperationCount& row) {
    return std::tuple(row.communicator, row.operation, row.peer);
  });
}

inline void CheckConnections(const std::vector<ConnectionSample>& connections, size_t communicators,
                             uint32_t world_size, Violation& violation) {
  violation.RequireRows(connections.size(), CodecLimits::kConnections);
  for (const ConnectionSample& sample : connections) {
    violation.RequireTime(sample.time_ns);
    violation.RequireTime(sample.busy_ns);
    violation.RequireIndex(sample.peer, world_size);
    violation.RequireEnum(sample.resource, kResourceCount);
    violation.RequireIndex(sample.communicator, communicators + 1);
  }
  violation.RequireSorted(connections,
                          [](const ConnectionSample& sample) { return sample.time_ns; });
}

}  // namespace eroica
