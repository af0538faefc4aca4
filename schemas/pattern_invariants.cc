#include <algorithm>
#include <tuple>

#include "schemas/invariants.h"
#include "schemas/violation.h"

namespace eroica {
namespace {

void CheckHistogram(const DurationHistogram& histogram, Violation& violation) {
  // Its class keeps the buckets sorted and their counts above zero.
  if (!histogram.empty())
    violation.RequireIndex(histogram.buckets().back().first, DurationHistogram::kBucketCount);
}

void CheckPattern(const FunctionPattern& pattern, Violation& violation) {
  violation.RequireEnum(pattern.function_class, kFunctionClassCount);
  violation.RequireEnum(pattern.wait, kWaitKindCount);
  if (pattern.resource != Resource::kNone) violation.RequireEnum(pattern.resource, kResourceCount);
  violation.RequireShare(pattern.beta);
  violation.RequireShare(pattern.mu);
  violation.RequireShare(pattern.sigma);
  violation.RequireTime(pattern.total_ns);
  violation.RequireTime(pattern.critical_ns);
  violation.Require(pattern.duration_mean_ns >= 0 &&
                        pattern.duration_mean_ns <= static_cast<double>(CodecLimits::kMaxTimeNs),
                    DropReason::kValueOutOfRange);
  violation.RequireFinite(pattern.duration_m2);
  violation.RequireTime(pattern.duration_min_ns);
  violation.RequireTime(pattern.duration_max_ns);
  CheckHistogram(pattern.histogram, violation);
}

// Stages add up to their step, or are not known.
void CheckStages(const StepRecord& step, Violation& violation) {
  uint64_t sum = 0;
  for (const int64_t ns : step.stage_ns) {
    violation.RequireTime(ns);
    sum += static_cast<uint64_t>(ns);
  }
  violation.Require(sum == 0 || sum == static_cast<uint64_t>(step.duration_ns),
                    DropReason::kValueOutOfRange);
}

void CheckConnections(const PatternBatch& batch, Violation& violation) {
  violation.RequireRows(batch.connections.size(), CodecLimits::kConnections);
  for (const ConnectionPattern& connection : batch.connections) {
    violation.RequireIndex(connection.peer, batch.world_size);
    violation.RequireEnum(connection.resource, kResourceCount);
    violation.RequireTime(connection.busy_ns);
    const bool listed = std::binary_search(batch.communicators.begin(), batch.communicators.end(),
                                           connection.communicator);
    violation.Require(connection.communicator == CommId{} || listed, DropReason::kIndexOutOfRange);
  }
  violation.RequireSorted(batch.connections, [](const ConnectionPattern& row) {
    return std::tuple(row.peer, row.resource, row.communicator);
  });
}

void CheckLevels(const PatternBatch& batch, Violation& violation) {
  violation.RequireRows(batch.levels.size(), kResourceCount);
  for (const ResourceLevel& level : batch.levels) {
    violation.RequireEnum(level.resource, kResourceCount);
    violation.RequireShare(level.mean);
    violation.RequireShare(level.max);
    violation.Require(level.samples > 0, DropReason::kValueOutOfRange);
  }
  const auto not_after = [](const ResourceLevel& a, const ResourceLevel& b) {
    return a.resource >= b.resource;
  };
  violation.Require(std::ranges::adjacent_find(batch.levels, not_after) == batch.levels.end(),
                    DropReason::kNotInOrder);
}

void CheckSuspended(const PatternBatch& batch, Violation& violation) {
  for (const SuspendedCapture& row : batch.suspended) {
    violation.RequireEnum(row.gap.capture, kCaptureKindCount);
    violation.RequireTime(row.suspended_ns);
    violation.Require(row.suspended_ns > 0, DropReason::kValueOutOfRange);
  }
  const auto not_after = [](const SuspendedCapture& a, const SuspendedCapture& b) {
    return a.gap.capture >= b.gap.capture;
  };
  violation.Require(std::ranges::adjacent_find(batch.suspended, not_after) == batch.suspended.end(),
                    DropReason::kNotInOrder);
}

}  // namespace

DropReason CheckInvariants(const PatternBatch& batch) {
  Violation violation;
  violation.RequireJob(batch.job);
  violation.RequireWorld(batch.world_size);
  violation.RequireRank(batch.rank, batch.world_size);
  violation.Require(batch.device >= -1, DropReason::kIndexOutOfRange);
  violation.RequireWindow(batch.window);
  violation.RequireRows(batch.steps.size(), CodecLimits::kPatterns);
  for (const StepRecord& step : batch.steps) {
    violation.RequireStep(step.id);
    violation.RequireTime(step.duration_ns);
    violation.RequireTime(step.peer_wait_ns);
    CheckStages(step, violation);
    violation.RequireEnum(step.pause, kPauseCount);
  }
  violation.RequireSorted(batch.steps, [](const StepRecord& step) { return step.id; });
  CheckConnections(batch, violation);
  CheckLevels(batch, violation);
  CheckSuspended(batch, violation);
  violation.RequireRows(batch.patterns.size(), CodecLimits::kPatterns);
  for (const FunctionPattern& pattern : batch.patterns) CheckPattern(pattern, violation);
  violation.RequireSorted(batch.patterns,
                          [](const FunctionPattern& pattern) { return pattern.function.value; });
  for (const int64_t ns : batch.folded_critical_ns) violation.RequireTime(ns);
  violation.RequireRows(batch.communicators.size(), CodecLimits::kCommunicators);
  violation.RequireSorted(batch.communicators,
                          [](CommId communicator) { return communicator.value; });
  return violation.reason();
}

}  // namespace eroica
