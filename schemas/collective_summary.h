// CollectiveSummary: who waited for whom on one communicator in one window, what align says to
// diagnose. Wire: collective_summary.fbs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/ids.h"
#include "schemas/window.h"

namespace eroica {

struct Blocker {
  FunctionId function;
  std::string name;
  std::string stack;
  uint64_t count = 0;
  int64_t caused_wait_ns = 0;  // of the others, in the operations before which it ran
  int64_t run_ns = 0;
  friend bool operator==(const Blocker&, const Blocker&) = default;
};

struct MemberSummary {
  RankId rank;
  uint64_t count = 0;           // operations in which all members met that reported for the window
  int64_t wait_ns = 0;          // sum of own duration - shortest duration in the group
  int64_t exposed_wait_ns = 0;  // the same, per operation no more than its exposed time
  uint64_t last_count = 0;      // times it arrived last
  int64_t lateness_ns = 0;      // sum, where it arrived last, of second shortest - own duration
  int64_t caused_wait_ns = 0;   // sum, where it arrived last, of the exposed waits of the others
  // steps in which it caused more exposed wait than any other member, ascending
  std::vector<int64_t> late_steps;
  std::vector<Blocker> blockers;  // what it ran when it arrived last, most caused wait first
  // the rank's operations that another member never joined, nor a later one of the kind (else a row
  // was lost)
  uint64_t incomplete = 0;
  friend bool operator==(const MemberSummary&, const MemberSummary&) = default;
};

// Point to point, from sender to receiver (global ranks): the k-th send has met the k-th receive.
struct PairSummary {
  RankId source;
  RankId destination;
  uint64_t count = 0;
  // Exposed time of the receives and of the sends, also of those whose other end nobody recorded.
  int64_t receive_wait_ns = 0;
  int64_t send_wait_ns = 0;
  uint64_t unmatched = 0;
  // Of receive_wait_ns what both ends were in the operation: data moved, nobody was late.
  int64_t transfer_ns = 0;
  friend bool operator==(const PairSummary&, const PairSummary&) = default;
};

struct CollectiveSummary {
  JobId job;
  CommId communicator;
  std::string communicator_name;
  std::string communicator_description;
  uint32_t world_size = 1;
  Window window;                       // times are those of the lowest rank
  std::vector<MemberSummary> members;  // by rank
  std::vector<PairSummary> pairs;      // by source, destination
  uint64_t operations = 0;             // that all members joined which reported for the window
  // operations that a reporting member never joined; said one window later, unless that never comes
  uint64_t incomplete = 0;
  int64_t transfer_ns = 0;  // sum of the shortest durations
  uint64_t bytes = 0;
  std::vector<RankId> missing;  // members that reported nothing for this window
  uint32_t steps = 0;           // distinct steps in which an operation was completed
  friend bool operator==(const CollectiveSummary&, const CollectiveSummary&) = default;
};

}  // namespace eroica
