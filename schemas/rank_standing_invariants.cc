#include "schemas/invariants.h"
#include "schemas/progress_invariants.h"
#include "schemas/violation.h"

namespace eroica {
namespace {

void CheckStatus(int32_t exit_code, int32_t signal, Violation& violation) {
  violation.Require(exit_code >= -1 && exit_code <= kHighestExitCode, DropReason::kValueOutOfRange);
  violation.Require(signal >= 0 && signal <= kHighestSignal, DropReason::kValueOutOfRange);
  violation.Require(exit_code < 0 || signal == 0, DropReason::kValueOutOfRange);
}

void CheckFailure(const JobFailure& failure, Violation& violation) {
  CheckStatus(failure.exit_code, failure.signal, violation);
  violation.RequireTime(failure.within_ns);
}

void CheckEnd(const ProcessEnd& end, Violation& violation) {
  CheckStatus(end.exit_code, end.signal, violation);
  violation.RequireTime(end.started_ns);
  if (end.job_failure) CheckFailure(*end.job_failure, violation);
}

}  // namespace

DropReason CheckInvariants(const RankStanding& standing) {
  Violation violation;
  violation.RequireJob(standing.job);
  violation.RequireWorld(standing.world_size);
  violation.RequireRank(standing.rank, standing.world_size);
  violation.Require(standing.device >= -1, DropReason::kIndexOutOfRange);
  violation.RequireTime(standing.time_ns);
  violation.RequireTime(standing.last_progress_ns);
  violation.Require(standing.last_progress_ns <= standing.time_ns, DropReason::kTimeOutOfRange);
  violation.RequireEnum(standing.pause, kPauseCount);
  violation.RequireEnum(standing.window_kind, kWindowKindCount);
  violation.RequireStep(standing.window_index);
  violation.RequireStep(standing.step);
  violation.RequireStep(standing.last_step);
  violation.RequireTime(standing.step_mean_ns);
  violation.RequireEnum(standing.function_class, kFunctionClassCount);
  CheckCommunicators(standing.communicators, standing.world_size, violation);
  violation.RequireSorted(standing.communicators,
                          [](const Communicator& communicator) { return communicator.id.value; });
  CheckInFlight(standing.in_flight, standing.communicators.size(), standing.world_size, violation);
  CheckOperations(standing.operations, standing.communicators.size(), standing.world_size,
                  violation);
  CheckConnections(standing.connections, standing.communicators.size(), standing.world_size,
                   violation);
  if (standing.end) CheckEnd(*standing.end, violation);
  return violation.reason();
}

}  // namespace eroica
