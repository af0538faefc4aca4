#include "producers/import/dump_launches.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "schemas/codec.h"
#include "schemas/synchronizing_operation.h"

namespace eroica {
namespace {

using Entry = FlightRecorderDump::Entry;
using State = FlightRecorderDump::State;

// Whether the recorder has updated the entry, which it never does with the entries of a batch: then
// it is an operation of its own.
bool IsLookedAt(const DumpLaunch& launch) {
  return launch.closed || launch.retired || launch.state != State::kScheduled;
}

// The number of a batch is counted up at its begin or, in some versions, at its end.
bool Joins(const Entry& entry, const DumpLaunch& launch) {
  if (IsLookedAt(launch) || launch.on_host) return false;
  return entry.sequence == launch.sequence ||
         (entry.closes && entry.sequence == launch.sequence + 1);
}

RankLaunches Launches(uint32_t rank, const FlightRecorderDump& dump, const DumpGroups& groups) {
  RankLaunches launches;
  launches.of_entry.assign(dump.entries.size(), RankLaunches::kNone);
  // by group, and point to point or not: the launch that the next entry may belong to
  std::vector<uint32_t> open(groups.all().size() * 2, RankLaunches::kNone);
  for (size_t i = 0; i < dump.entries.size(); ++i) {
    const Entry& entry = dump.entries[i];
    const uint32_t group = groups.Of(rank, entry);
    if (group == DumpGroups::kNone || entry.sequence < 0 || entry.created_ns < 0 ||
        entry.created_ns > CodecLimits::kMaxTimeNs)
      continue;
    uint32_t& last = open[size_t{group} * 2 + (entry.point_to_point ? 1 : 0)];
    if (last == RankLaunches::kNone || !Joins(entry, launches.rows[last])) {
      last = static_cast<uint32_t>(launches.rows.size());
      launches.rows.push_back({.group = group,
                               .sequence = entry.sequence,
                               .point_to_point = entry.point_to_point,
                               .on_host = entry.on_host,
                               .mutual = !entry.point_to_point && Synchronizes(entry.operation)});
    }
    DumpLaunch& launch = launches.rows[last];
    ++launch.entries;
    launch.sequence = std::max(launch.sequence, entry.sequence);
    launch.created_ns = std::max(launch.created_ns, entry.created_ns);
    launch.state = entry.state;
    launch.retired = entry.retired;
    launch.closed = entry.closes;
    launches.of_entry[i] = last;
  }
  return launches;
}

// Whether the dump holds only what is in flight. It leaves out the entry behind a batch that has
// ended, and holds the batch's other entries.
bool IsOfActivesAlone(const FlightRecorderDump& dump) {
  return !dump.from_the_first && std::ranges::none_of(dump.entries, [](const Entry& entry) {
    return entry.retired || entry.state == State::kCompleted;
  });
}

bool TellsEndsOverGloo(const RankLaunches& launches) {
  return std::ranges::any_of(launches.rows, [](const DumpLaunch& launch) {
    return launch.on_host && launch.state == State::kCompleted;
  });
}

// Of a group, as far as dumps tell.
struct GroupNumbers {
  // The highest that every member has entered. A member whose ring has forgotten its beginning and
  // holds nothing of the group tells nothing.
  int64_t entered_by_all = std::numeric_limits<int64_t>::max();
  int64_t retired_by_any = -1;   // the highest that a member does not watch any more; over gloo
  int64_t launched_by_any = -1;  // the highest
  int64_t never_meets = -1;      // the last of all members, who entered different operations there
};

// Of a group over hosts: its highest number, and what its members entered under it.
struct LastNumber {
  int64_t number = -1;
  std::set<std::tuple<CollectiveOperation, uint64_t>> plans;
};
std::map<uint32_t, LastNumber> LastNumbersOf(const RankDumps& dumps,
                                             const std::map<uint32_t, RankLaunches>& launches) {
  std::map<uint32_t, LastNumber> last;
  for (const auto& [rank, own] : launches) {
    const std::vector<Entry>& entries = dumps.at(rank).dump.entries;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (own.of_entry[i] == RankLaunches::kNone) continue;
      const DumpLaunch& launch = own.rows[own.of_entry[i]];
      if (!launch.on_host || launch.point_to_point) continue;
      LastNumber& group = last[launch.group];
      if (launch.sequence < group.number) continue;
      if (launch.sequence > group.number) group = {.number = launch.sequence};
      const CollectiveOperation operation = entries[i].operation;
      group.plans.emplace(operation, NeedsOneSize(operation) ? entries[i].bytes : 0);
    }
  }
  return last;
}

std::vector<GroupNumbers> NumbersOf(const RankDumps& dumps,
                                    const std::map<uint32_t, RankLaunches>& launches,
                                    const DumpGroups& groups) {
  std::vector<GroupNumbers> numbers(groups.all().size());
  for (const auto& [rank, own] : launches) {
    std::map<uint32_t, int64_t> highest;
    if (dumps.at(rank).dump.from_the_first) {
      for (const uint32_t group : groups.OfRank(rank)) highest[group] = 0;
    }
    for (const DumpLaunch& launch : own.rows) {
      if (launch.point_to_point) continue;
      int64_t& number = highest[launch.group];
      number = std::max(number, launch.sequence);
      int64_t& launched = numbers[launch.group].launched_by_any;
      launched = std::max(launched, launch.sequence);
      int64_t& retired = numbers[launch.group].retired_by_any;
      if (launch.retired && launch.on_host) retired = std::max(retired, launch.sequence);
    }
    for (const auto& [group, number] : highest)
      numbers[group].entered_by_all = std::min(numbers[group].entered_by_all, number);
  }
  // What all have entered and nobody has gone beyond; else they have met.
  for (const auto& [group, last] : LastNumbersOf(dumps, launches)) {
    if (last.plans.size() > 1 && last.number <= numbers[group].entered_by_all)
      numbers[group].never_meets = last.number;
  }
  return numbers;
}

// Of what not all wait for (broadcast, gather): the rank's last, which a member never entered and
// others have continued behind.
bool IsLeftBehind(const DumpLaunch& launch, bool last, const GroupNumbers& numbers) {
  return last && launch.sequence > numbers.entered_by_all &&
         launch.sequence < numbers.launched_by_any;
}

// An operation in which every member needs every other one has ended on all once one of them has
// the result: each has sent its part.
bool HasEndedOverGloo(const DumpLaunch& launch, bool last, const GroupNumbers& numbers) {
  if (launch.sequence == numbers.never_meets) return false;
  if (!launch.mutual) return launch.retired && !IsLeftBehind(launch, last, numbers);
  return launch.sequence <= numbers.entered_by_all && launch.sequence <= numbers.retired_by_any;
}

// What else a dump tells by how it was written.
struct Writing {
  bool of_actives_alone = false;
  bool host_ends_told =
      false;  // newer recorders mark gloo's operations that succeeded as completed
};

bool HasEnded(const DumpLaunch& launch, bool last, const std::vector<GroupNumbers>& numbers,
              const Writing& writing) {
  if (launch.state == State::kCompleted) return true;
  if (launch.on_host)
    return !writing.host_ends_told && HasEndedOverGloo(launch, last, numbers[launch.group]);
  return writing.of_actives_alone && launch.entries > 1 && !launch.closed && !launch.retired;
}

}  // namespace

std::map<uint32_t, RankLaunches> LaunchesOf(const RankDumps& dumps, const DumpGroups& groups) {
  std::map<uint32_t, RankLaunches> launches;
  for (const auto& [rank, own] : dumps) launches[rank] = Launches(rank, own.dump, groups);
  const std::vector<GroupNumbers> numbers = NumbersOf(dumps, launches, groups);
  for (auto& [rank, own] : launches) {
    const Writing writing{IsOfActivesAlone(dumps.at(rank).dump), TellsEndsOverGloo(own)};
    for (DumpLaunch& launch : own.rows)
      launch.ended = HasEnded(launch, &launch == &own.rows.back(), numbers, writing);
  }
  return launches;
}

}  // namespace eroica
