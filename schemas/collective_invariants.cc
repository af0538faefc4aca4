#include "schemas/invariants.h"
#include "schemas/violation.h"

namespace eroica {
namespace {

void CheckMember(const MemberSummary& member, uint32_t world_size, Violation& violation) {
  violation.RequireRank(member.rank, world_size);
  violation.RequireTime(member.wait_ns);
  violation.RequireTime(member.exposed_wait_ns);
  violation.RequireTime(member.lateness_ns);
  violation.RequireTime(member.caused_wait_ns);
  violation.RequireRows(member.late_steps.size(), CodecLimits::kPatterns);
  for (const int64_t step : member.late_steps) violation.RequireStep(step);
  violation.RequireSorted(member.late_steps, [](int64_t step) { return step; });
  violation.RequireRows(member.blockers.size(), CodecLimits::kPatterns);
  for (const Blocker& blocker : member.blockers) {
    violation.RequireTime(blocker.caused_wait_ns);
    violation.RequireTime(blocker.run_ns);
  }
}

void CheckPair(const PairSummary& pair, uint32_t world_size, Violation& violation) {
  violation.RequireRank(pair.source, world_size);
  violation.RequireRank(pair.destination, world_size);
  violation.RequireTime(pair.receive_wait_ns);
  violation.RequireTime(pair.send_wait_ns);
  violation.RequireTime(pair.transfer_ns);
}

}  // namespace

DropReason CheckInvariants(const CollectiveBatch& batch) {
  Violation violation;
  violation.RequireJob(batch.job);
  violation.RequireWorld(batch.world_size);
  violation.RequireRank(batch.rank, batch.world_size);
  violation.RequireWindow(batch.window);
  violation.RequireRows(batch.communicator.ranks.size(), CodecLimits::kRanks);
  for (const uint32_t rank : batch.communicator.ranks)
    violation.RequireIndex(rank, batch.world_size);
  violation.RequireRows(batch.predecessors.size(), CodecLimits::kPatterns);
  violation.RequireRows(batch.records.size(), CodecLimits::kRecords);
  for (const CollectiveRecord& record : batch.records) {
    violation.RequireEnum(record.operation, kCollectiveOperationCount);
    violation.RequirePeer(record.peer, batch.world_size);
    violation.RequireStep(record.step);
    violation.RequireTime(record.duration_ns);
    violation.RequireTime(record.exposed_ns);
    violation.RequireTime(record.gap_ns);
    violation.RequireTime(record.before_ns);
    violation.RequireIndex(record.before, batch.predecessors.size() + 1);
  }
  return violation.reason();
}

DropReason CheckInvariants(const CollectiveSummary& summary) {
  Violation violation;
  violation.RequireJob(summary.job);
  violation.RequireWorld(summary.world_size);
  violation.RequireWindow(summary.window);
  violation.RequireTime(summary.transfer_ns);
  violation.RequireRows(summary.members.size(), CodecLimits::kRanks);
  for (const MemberSummary& member : summary.members)
    CheckMember(member, summary.world_size, violation);
  violation.RequireSorted(summary.members, [](const MemberSummary& member) { return member.rank; });
  violation.RequireRows(summary.pairs.size(), CodecLimits::kRanks);
  for (const PairSummary& pair : summary.pairs) CheckPair(pair, summary.world_size, violation);
  violation.RequireSorted(summary.pairs, [](const PairSummary& pair) {
    return std::pair(pair.source, pair.destination);
  });
  violation.RequireRows(summary.missing.size(), CodecLimits::kRanks);
  for (const RankId rank : summary.missing) violation.RequireRank(rank, summary.world_size);
  return violation.reason();
}

}  // namespace eroica
