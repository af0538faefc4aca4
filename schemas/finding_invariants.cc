#include "schemas/invariants.h"
#include "schemas/violation.h"

namespace eroica {
namespace {

// A finding may speak of a job whose world it does not know, so ranks are bounded by what a world
// can be at most.
void CheckRank(int64_t rank, Violation& violation) {
  violation.Require(rank >= -1 && rank < static_cast<int64_t>(CodecLimits::kRanks),
                    DropReason::kIndexOutOfRange);
}

void CheckParties(const Finding& finding, Violation& violation) {
  violation.RequireRows(finding.culprits.size(), CodecLimits::kRanks);
  for (const Culprit& culprit : finding.culprits) {
    CheckRank(culprit.rank, violation);
    CheckRank(culprit.peer, violation);
    violation.Require(culprit.device >= -1, DropReason::kIndexOutOfRange);
  }
  violation.RequireRows(finding.victims.size(), CodecLimits::kRanks);
  for (const Victim& victim : finding.victims) {
    CheckRank(victim.rank.value, violation);
    violation.RequireTime(victim.lost_ns);
    violation.RequireFinite(victim.lost_ns_per_step);
  }
  violation.RequireSorted(finding.victims, [](const Victim& victim) { return victim.rank; });
}

void CheckEvidence(const Finding& finding, Violation& violation) {
  violation.RequireRows(finding.evidence.size(), CodecLimits::kPatterns);
  for (const Measure& measure : finding.evidence) {
    violation.RequireFinite(measure.culprit);
    violation.RequireFinite(measure.peers);
    violation.RequireFinite(measure.threshold);
  }
  violation.RequireRows(finding.chain.size(), CodecLimits::kPatterns);
  for (const Effect& effect : finding.chain) {
    CheckRank(effect.rank, violation);
    violation.RequireTime(effect.lost_ns);
  }
  violation.RequireRows(finding.caveats.size(), CodecLimits::kPatterns);
}

}  // namespace

DropReason CheckInvariants(const Finding& finding) {
  Violation violation;
  violation.Require(!finding.id.empty(), DropReason::kInvalidIdentity);
  violation.RequireRows(finding.id.size(), CodecLimits::kNameBytes);
  violation.RequireJob(finding.job);
  violation.RequireRows(finding.world_size, CodecLimits::kRanks);
  violation.RequireEnum(finding.kind, kFindingKindCount);
  violation.RequireEnum(finding.severity, kSeverityCount);
  violation.RequireEnum(finding.state, kFindingStateCount);
  violation.RequireEnum(finding.function_class, kFunctionClassCount);
  violation.RequireShare(finding.confidence);
  violation.RequireFinite(finding.lost_gpu_seconds_per_hour);
  violation.RequireFinite(finding.lost_ns_per_step);
  violation.RequireStep(finding.first_step);
  violation.RequireStep(finding.last_step);
  violation.RequireTime(finding.emitted_at_ns);
  violation.RequireTime(finding.first_seen_ns);
  violation.RequireTime(finding.last_seen_ns);
  CheckParties(finding, violation);
  CheckEvidence(finding, violation);
  return violation.reason();
}

DropReason CheckInvariants(const Control& control) {
  Violation violation;
  violation.RequireJob(control.job);
  violation.RequireEnum(control.capture_level, kControlLevelCount);
  violation.Require(control.first_step >= 0, DropReason::kTimeOutOfRange);
  return violation.reason();
}

}  // namespace eroica
