#include "diagnosis/hang/standing_lookup.h"

#include <algorithm>

#include "diagnosis/hang/wait_graph.h"

namespace eroica {
namespace {

// The operation as the rank calls it: what is a send to its peer is a receive to itself.
struct OwnTerms {
  CollectiveOperation operation;
  int32_t peer;
};
OwnTerms OwnTermsOf(const RankStanding& standing, const HungOperation& operation) {
  if (!operation.point_to_point()) return {operation.operation, -1};
  if (static_cast<int32_t>(standing.rank.value) == operation.source)
    return {CollectiveOperation::kSend, operation.destination};
  return {CollectiveOperation::kRecv, operation.source};
}

const OperationCount* CountOf(const RankStanding& standing, uint16_t place,
                              CollectiveOperation operation, int32_t peer) {
  for (const OperationCount& row : standing.operations) {
    if (row.communicator == place && row.operation == operation && row.peer == peer) return &row;
  }
  return nullptr;
}

}  // namespace

std::optional<uint16_t> PlaceOf(const RankStanding& standing, CommId communicator) {
  const auto found =
      std::lower_bound(standing.communicators.begin(), standing.communicators.end(), communicator,
                       [](const Communicator& row, CommId id) { return row.id < id; });
  if (found == standing.communicators.end() || found->id != communicator) return std::nullopt;
  return static_cast<uint16_t>(found - standing.communicators.begin());
}

uint64_t LaunchedBelow(const RankStanding& standing, const HungOperation& operation) {
  const std::optional<uint16_t> place = PlaceOf(standing, operation.communicator->id);
  if (!place) return 0;
  const OwnTerms own = OwnTermsOf(standing, operation);
  uint64_t launched = 0;
  if (const OperationCount* count = CountOf(standing, *place, own.operation, own.peer))
    launched = count->launched;
  if (const OperationCount* count = CountOf(standing, *place, CollectiveOperation::kUnknown, -1))
    launched = std::max(launched, count->launched);
  return launched;
}

Share ShareIn(const RankStanding& standing, const HungOperation& operation) {
  const std::optional<uint16_t> place = PlaceOf(standing, operation.communicator->id);
  if (!place) return Share::kNotLaunched;
  const OwnTerms own = OwnTermsOf(standing, operation);
  for (const InFlightCollective& row : standing.in_flight) {
    if (row.communicator != *place || row.operation != own.operation) continue;
    if (operation.point_to_point() ? row.peer == own.peer : row.sequence == operation.sequence)
      return Share::kInFlight;
  }
  // Flight recorders number all kinds together: under this number the rank launched another kind.
  const auto same_number = [&](const InFlightCollective& row) {
    return row.communicator == *place && row.sequence == operation.sequence &&
           !IsPointToPoint(row.operation);
  };
  if (!operation.point_to_point() && standing.timed_out &&
      std::ranges::any_of(standing.in_flight, same_number))
    return Share::kNotLaunched;
  if (!operation.point_to_point())
    return LaunchedBelow(standing, operation) > operation.sequence ? Share::kThrough
                                                                   : Share::kNotLaunched;
  const OperationCount* count = CountOf(standing, *place, own.operation, own.peer);
  return count != nullptr && count->completed > operation.sequence ? Share::kThrough
                                                                   : Share::kNotLaunched;
}

uint64_t NumbersBelow(const RankStanding& standing, CommId communicator) {
  const std::optional<uint16_t> place = PlaceOf(standing, communicator);
  uint64_t below = 0;
  for (const OperationCount& row : standing.operations) {
    if (place && row.communicator == *place && !IsPointToPoint(row.operation))
      below = std::max(below, row.launched);
  }
  return below;
}

int64_t StoodNs(const RankStanding& standing) {
  int64_t stood_ns = standing.stalled_ns();
  if (!standing.timed_out) return stood_ns;
  for (const InFlightCollective& row : standing.in_flight)
    stood_ns = std::max(stood_ns, standing.time_ns - row.launched_ns);
  return stood_ns;
}

}  // namespace eroica
