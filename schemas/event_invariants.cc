#include <algorithm>
#include <vector>

#include "schemas/invariants.h"
#include "schemas/progress_invariants.h"
#include "schemas/violation.h"

namespace eroica {
namespace {

constexpr uint64_t kMaxTime = CodecLimits::kMaxTimeNs;

void CheckIdentity(const ProducerIdentity& identity, Violation& violation) {
  violation.RequireJob(identity.job);
  violation.RequireWorld(identity.world_size);
  violation.RequireRank(identity.rank, identity.world_size);
  violation.Require(identity.device >= -1, DropReason::kIndexOutOfRange);
  violation.RequireTime(identity.started_ns);
  violation.Require(identity.window_offset < std::max(identity.window_steps, 1u),
                    DropReason::kIndexOutOfRange);
}

void CheckFunctions(const std::vector<FunctionDef>& functions, Violation& violation) {
  violation.RequireRows(functions.size(), CodecLimits::kFunctions);
  std::vector<uint32_t> depth(functions.size(), 1);
  for (size_t i = 0; i < functions.size(); ++i) {
    const FunctionDef& function = functions[i];
    violation.RequireEnum(function.function_class, kFunctionClassCount);
    violation.RequireEnum(function.wait, kWaitKindCount);
    if (function.parent == kNoParent) continue;
    if (function.parent >= i) return violation.Require(false, DropReason::kIndexOutOfRange);
    depth[i] = depth[function.parent] + 1;
    violation.Require(depth[i] <= CodecLimits::kStackDepth, DropReason::kLimitExceeded);
  }
}

// The rows are the bulk of a batch, so their rules are folded into the sign bit of one number each:
// no branch in the loops.
void CheckIntervals(const EventBatch& batch, Violation& violation) {
  const IntervalColumns& rows = batch.intervals;
  const size_t count = rows.size();
  violation.RequireRows(count, CodecLimits::kIntervals);
  const bool same_length = rows.duration_ns.size() == count && rows.function.size() == count &&
                           rows.lane.size() == count;
  if (!same_length) return violation.Require(false, DropReason::kColumnLength);

  uint64_t time_signs = 0;
  uint64_t previous = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto start = static_cast<uint64_t>(rows.start_ns[i]);
    const auto duration = static_cast<uint64_t>(rows.duration_ns[i]);
    time_signs |= start | duration | (start - previous) | (kMaxTime - start) |
                  (kMaxTime - duration) | (kMaxTime - start - duration);
    previous = start;
  }
  violation.Require(static_cast<int64_t>(time_signs) >= 0, DropReason::kTimeOutOfRange);

  const auto last_function = static_cast<uint32_t>(batch.functions.size()) - 1;
  uint32_t function_signs = 0;
  for (const uint32_t function : rows.function)
    function_signs |= function | (last_function - function);
  violation.Require(static_cast<int32_t>(function_signs) >= 0, DropReason::kIndexOutOfRange);

  uint8_t largest_lane = 0;
  for (const uint8_t lane : rows.lane) largest_lane = std::max(largest_lane, lane);
  if (count > 0) violation.RequireIndex(largest_lane, batch.lanes.size());
}

void CheckCollectives(const EventBatch& batch, Violation& violation) {
  violation.RequireRows(batch.collectives.size(), CodecLimits::kIntervals);
  for (const Collective& row : batch.collectives) {
    violation.RequireIndex(row.interval, batch.intervals.size());
    violation.RequireIndex(row.communicator, batch.communicators.size());
    violation.RequireEnum(row.operation, kCollectiveOperationCount);
    violation.RequirePeer(row.peer, batch.identity.world_size);
  }
  violation.RequireSorted(batch.collectives, [](const Collective& row) { return row.interval; });
}

void CheckSamplesAndMarks(const EventBatch& batch, Violation& violation) {
  violation.RequireRows(batch.samples.size(), CodecLimits::kIntervals);
  for (const ResourceSample& sample : batch.samples) {
    violation.RequireEnum(sample.resource, kResourceCount);
    violation.RequireTime(sample.time_ns);
    violation.RequireShare(static_cast<double>(sample.value));
  }
  violation.RequireSorted(batch.samples, [](const ResourceSample& row) { return row.time_ns; });

  violation.RequireRows(batch.marks.size(), CodecLimits::kIntervals);
  for (const Mark& mark : batch.marks) {
    violation.RequireEnum(mark.kind, kMarkKindCount);
    violation.RequireTime(mark.time_ns);
    violation.RequireStep(mark.id);
  }
  violation.RequireSorted(batch.marks, [](const Mark& row) { return row.time_ns; });
}

void CheckProgress(const EventBatch& batch, Violation& violation) {
  violation.RequireRows(batch.progress.size(), CodecLimits::kReports);
  for (const ProgressReport& report : batch.progress) {
    violation.RequireTime(report.time_ns);
    violation.RequireStep(report.step);
    if (report.function != kNoParent)
      violation.RequireIndex(report.function, batch.functions.size());
    CheckInFlight(report.in_flight, batch.communicators.size(), batch.identity.world_size,
                  violation);
    CheckOperations(report.operations, batch.communicators.size(), batch.identity.world_size,
                    violation);
  }
  violation.RequireSorted(batch.progress,
                          [](const ProgressReport& report) { return report.time_ns; });
}

}  // namespace

DropReason CheckInvariants(const EventBatch& batch) {
  Violation violation;
  CheckIdentity(batch.identity, violation);
  violation.RequireTime(batch.clock.realtime_ns);
  violation.RequireTime(batch.clock.monotonic_ns);
  violation.RequireTime(batch.clock.device_ns);
  violation.Require(batch.time_unit_ns > 0, DropReason::kTimeOutOfRange);
  CheckFunctions(batch.functions, violation);
  violation.RequireRows(batch.lanes.size(), CodecLimits::kLanes);
  for (const Lane& lane : batch.lanes) violation.RequireEnum(lane.kind, kLaneKindCount);
  CheckCommunicators(batch.communicators, batch.identity.world_size, violation);
  CheckIntervals(batch, violation);
  CheckCollectives(batch, violation);
  CheckSamplesAndMarks(batch, violation);
  CheckProgress(batch, violation);
  CheckConnections(batch.connections, batch.communicators.size(), batch.identity.world_size,
                   violation);
  violation.RequireRows(batch.losses.size(), CodecLimits::kLosses);
  for (const LossEntry& loss : batch.losses) {
    violation.RequireEnum(loss.kind, kEventKindCount);
    violation.Require(IsDropReason(static_cast<uint8_t>(loss.reason)), DropReason::kEnumOutOfRange);
  }
  return violation.reason();
}

}  // namespace eroica
