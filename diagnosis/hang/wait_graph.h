// Who waits for whom in a job that stands still. Ranks wait in operations; an operation waits for
// the members that are not in it. Pure.
//
// In which operations a rank waits: those of its collectives in flight that have started on its
// device, and of each communicator over the host (gloo, MPI) the first collective: threads of the
// process carry it out. Where nobody recorded what has started (dumps of a flight recorder without
// times of starts), the one that was launched first: what lies behind it in the queue waits for
// nobody yet.
// A rank whose starts are known and whose launched collectives have not started is held up by
// itself: its device runs something else, or nothing. Operations of one kernel (a batch of sends
// and receives) end together: one that all members are in waits for those of its kernel that lack
// some.
// Sends and receives between two ranks are one operation, whichever their numbers: the oldest in
// flight of each side are partners.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "diagnosis/hang/hang_view.h"

namespace eroica {

enum class Absence : uint8_t {
  kNotLaunched,  // nor does the rank have it behind it
  kElsewhere,    // launched, but the rank stands in something before it
  kNotStarted,   // launched, and nothing before it runs: the rank's own device does not get on
  kSilent,       // nothing is known of the rank
};

struct AbsentRank {
  RankId rank;
  Absence why = Absence::kNotLaunched;
};

struct HungOperation {
  const Communicator* communicator = nullptr;  // of one of the ranks that wait
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  uint64_t sequence = 0;
  int32_t source = -1;             // point to point only: who sends ...
  int32_t destination = -1;        // ... and to whom
  std::vector<RankId> waiting;     // ascending
  std::vector<uint64_t> bytes;     // of each of those
  std::vector<uint8_t> sides;      // likewise, InFlightCollective::side
  bool starts_known = true;        // it has started on all of those
  std::vector<RankId> through;     // have it behind them
  std::vector<AbsentRank> absent;  // ascending

  bool point_to_point() const { return source >= 0; }
};

// Ranks that wait for nobody but themselves and each other, and the operations in which they do. Of
// a single rank outside all operations others wait for it.
struct HangRoot {
  std::vector<RankId> ranks;         // ascending; none where all members of an operation are in it
  std::vector<uint32_t> operations;  // indices
};

class WaitGraph {
 public:
  explicit WaitGraph(const HangView& view);

  const std::vector<HungOperation>& operations() const { return operations_; }
  // Operations in which the rank waits, indices.
  const std::vector<uint32_t>& OperationsOf(RankId rank) const { return waits_in_[rank.value]; }
  // nullptr for a rank that is silent or unknown.
  const RankStanding* StandingOf(RankId rank) const { return standings_[rank.value]; }
  // The framework gave the job up and dumped it: nobody reports any more.
  bool of_dumps() const { return of_dumps_; }
  uint32_t rank_count() const { return static_cast<uint32_t>(standings_.size()); }
  bool IsSilent(RankId rank) const { return silent_[rank.value]; }
  // Operations that all members are in, and that do not end because they run as one kernel with
  // another one that does not.
  struct HeldOperation {
    uint32_t operation = 0;
    uint32_t by = 0;
  };
  const std::vector<HeldOperation>& held() const { return held_; }
  // Every root that somebody waits for, or waits in; by their smallest rank.
  std::vector<HangRoot> Roots() const;

 private:
  // Where the ranks of an operation meet: communicator, kind, sender, receiver, sequence.
  using OperationKey = std::tuple<CommId, CollectiveOperation, int32_t, int32_t, uint64_t>;
  static OperationKey KeyOf(const RankStanding& standing, const InFlightCollective& row);

  void AddRank(const RankStanding& standing, std::map<OperationKey, uint32_t>* numbers);
  void FindAbsent(HungOperation& operation) const;
  void FindAbsentMember(HungOperation& operation, uint32_t member) const;
  void FindHeld();

  std::vector<const RankStanding*> standings_;  // by rank
  std::vector<bool> silent_;
  bool any_started_ = false;
  bool of_dumps_ = false;
  std::vector<HungOperation> operations_;
  std::vector<std::vector<uint32_t>> kernels_;  // operations of one kernel, two and more each
  std::vector<HeldOperation> held_;
  std::vector<std::vector<uint32_t>> waits_in_;  // by rank
};

}  // namespace eroica
