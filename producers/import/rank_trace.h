// All that an import has learnt of one rank before the ranks are matched with each other and
// written out as batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "producers/import/interval_store.h"
#include "producers/import/stated_numbers.h"
#include "schemas/event_batch.h"

namespace eroica {

// What batches of the importer name as their producer's version.
inline constexpr std::string_view kImporterVersion = "1";

// Times and durations of a trace are below it: two of them can be added.
inline constexpr int64_t kTraceTimeMaxNs = int64_t{1} << 62;

// A process group as the trace names it. Two ranks speak of the same group when name, description
// and members are equal.
struct ProcessGroup {
  std::string name;
  std::string description;
  MemberList ranks;
  uint32_t size = 0;           // 0 where unknown
  bool wrong_members = false;  // what the trace lists cannot be members: `ranks` is unknown
  friend bool operator==(const ProcessGroup&, const ProcessGroup&) = default;
};

// stated: nullopt where what is listed cannot be members.
inline void TakeMembers(std::optional<MemberList> stated, ProcessGroup* group) {
  group->wrong_members = !stated.has_value();
  if (stated) group->ranks = *std::move(stated);
}

// One collective or point-to-point operation that the rank executed.
struct CollectiveCall {
  static constexpr uint32_t kUnmatched = std::numeric_limits<uint32_t>::max();

  // start of its enqueue where that is known, else its own: the order in which the program asked
  // for it
  int64_t order_ns = 0;
  int64_t start_ns = 0;  // of the execution; of the launch, if nothing of it has run
  int64_t end_ns = 0;    // likewise
  bool ran = true;       // else the thread launched it, and the trace ends before it runs
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  CollectiveLibrary library = CollectiveLibrary::kUnknown;
  uint64_t bytes = 0;  // of this rank's input, 0 where unknown
  int32_t group = -1;  // index into RankTrace::groups, -1 where the trace does not tell
  // within the group, as the trace or a flight-recorder dump states it
  int64_t stated_sequence = -1;
  int32_t group_peer = -1;  // point to point: the peer's rank within the group
  int32_t peer = -1;        // and its global rank
  // Filled by the matcher.
  uint32_t communicator = kUnmatched;  // index into RankTrace::communicators
  uint64_t sequence = 0;
  // Index into RankTrace::collectives of a further operation of the same kernel; -1: none. What a
  // group sends and receives runs as one kernel.
  int32_t next = -1;
};

// An operation that the rank entered, and whose end is not in its trace.
struct StandingCall {
  uint32_t communicator = 0;  // index into RankTrace::communicators
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  bool started = false;
  int64_t launched_ns = 0;  // relative to the trace's base time
};

struct RankTrace {
  explicit RankTrace(SortBudget& budget) : intervals(budget) {}

  static constexpr size_t kMaxGroups = 4'000;  // the codec takes 4,096 communicators a batch
  // of all groups together; those of further groups count as unknown
  static constexpr size_t kMaxMembers = size_t{2} << 20;

  // Index of the group in `groups`, added where it is new; -1 where there are too many.
  int32_t GroupIndex(const ProcessGroup& group) {
    const auto found = std::find(groups.begin(), groups.end(), group);
    const auto index = static_cast<int32_t>(found - groups.begin());
    if (found != groups.end()) return index;
    if (groups.size() >= kMaxGroups) return -1;
    groups.push_back(group);
    members += group.ranks.size();
    if (members > kMaxMembers) groups.back().ranks = {};
    return index;
  }

  size_t file = 0;      // index into ImportReport::files
  uint64_t events = 0;  // of that file, imported for this rank
  int64_t rank = -1;
  int64_t world_size = -1;
  std::string role;
  std::string host;
  uint32_t pid = 0;
  int32_t device = -1;
  int64_t base_time_ns = 0;
  int64_t end_ns = 0;  // of its last event, relative to the base time
  bool has_device_events = false;
  bool has_python_frames = false;
  bool whole_microseconds = true;  // every time is one
  // Collectives that name no group are known to be of several groups.
  bool several_unnamed_groups = false;
  std::vector<ProcessGroup> groups;
  size_t members = 0;  // of all groups
  std::vector<Lane> lanes;
  IntervalStore intervals;
  std::vector<Mark> marks;  // any order; times relative to base_time_ns
  std::vector<CollectiveCall> collectives;
  std::vector<Communicator> communicators;  // filled by the matcher
  // Likewise: whether the traces of the job end in a standstill, and what this rank waits in.
  bool ends_standing = false;
  std::vector<StandingCall> standing;
  std::vector<ConnectionSample> connections;  // by peer, without a time: what it sent in all
};

}  // namespace eroica
