#include "producers/import/dump_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using State = FlightRecorderDump::State;

constexpr int64_t kLongestDefaultLimitNs = 1800 * kNsPerSecond;

// The highest number of each group that each rank has launched, by group and rank. A rank whose
// ring has forgotten its beginning and holds nothing of the group tells nothing.
std::map<uint32_t, std::map<uint32_t, int64_t>> HighestOf(
    const RankDumps& dumps, const DumpGroups& groups,
    const std::map<uint32_t, RankLaunches>& launches) {
  std::map<uint32_t, std::map<uint32_t, int64_t>> highest;
  for (const auto& [rank, own] : launches) {
    if (dumps.at(rank).dump.from_the_first) {
      for (const uint32_t group : groups.OfRank(rank)) highest[group][rank] = 0;
    }
    for (const DumpLaunch& launch : own.rows) {
      if (launch.point_to_point) continue;
      int64_t& number = highest[launch.group].try_emplace(rank, launch.sequence).first->second;
      number = std::max(number, launch.sequence);
    }
  }
  return highest;
}

int64_t LastNs(const FlightRecorderDump& dump) {
  int64_t last_ns = 0;
  for (const FlightRecorderDump::Entry& entry : dump.entries)
    last_ns = std::max({last_ns, entry.created_ns, entry.completed_ns});
  return last_ns;
}

// Of what was launched until then; 0 where the dump holds nothing that has ended.
int64_t LongestUntil(const FlightRecorderDump& dump, int64_t until_ns) {
  if (std::ranges::none_of(dump.entries, [](const FlightRecorderDump::Entry& entry) {
        return entry.retired || entry.state == State::kCompleted;
      }))
    return 0;
  int64_t longest_ns = 1, previous_ns = -1;
  for (const FlightRecorderDump::Entry& entry : dump.entries) {
    if (entry.created_ns < 0 || entry.created_ns > until_ns) continue;
    if (previous_ns >= 0) longest_ns = std::max(longest_ns, entry.created_ns - previous_ns);
    previous_ns = entry.created_ns;
    if (entry.completed_ns > 0)
      longest_ns = std::max(longest_ns, entry.completed_ns - entry.created_ns);
  }
  return longest_ns;
}

// Gloo retires what ended and what it gave up alike, unless it marks what ended.
bool IsGivenUp(const DumpLaunch& launch, bool host_ends_told) {
  return launch.retired && (!launch.on_host || host_ends_told);
}

std::string RanksText(const std::vector<uint32_t>& ranks) {
  constexpr size_t kShown = 8;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
    const bool last = i + 1 == ranks.size();
    text += fmt::format("{}{}", i == 0 ? " " : last ? " and " : ", ", ranks[i]);
  }
  if (ranks.size() > kShown) text += fmt::format(" and {} more", ranks.size() - kShown);
  return text;
}

}  // namespace

bool DumpWait::ShowsStandstill() const {
  // Clocks of hosts differ by less.
  constexpr int64_t kLeastNs = 10 * kNsPerSecond;
  return given_up || std::ranges::any_of(in_flight, [&](const Operation& operation) {
           return operation.stood_ns >= operation.limit_ns ||
                  (longest_ns > 0 && operation.stood_ns >= kLeastNs &&
                   operation.stood_ns / 2 >= longest_ns);
         });
}

std::map<uint32_t, DumpWait> DumpWaitsOf(const RankDumps& dumps, const DumpGroups& groups,
                                         const std::map<uint32_t, RankLaunches>& launches) {
  const auto highest = HighestOf(dumps, groups, launches);
  std::map<uint32_t, int64_t> last_ns;
  for (const auto& [rank, own] : dumps) last_ns[rank] = LastNs(own.dump);
  std::map<uint32_t, DumpWait> waits;
  for (const auto& [rank, own] : launches) {
    const FlightRecorderDump& dump = dumps.at(rank).dump;
    const bool host_ends_told = std::ranges::any_of(own.rows, [](const DumpLaunch& launch) {
      return launch.on_host && launch.state == State::kCompleted;
    });
    DumpWait wait{.last_ns = last_ns.at(rank)};
    int64_t oldest_ns = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < dump.entries.size(); ++i) {
      if (own.of_entry[i] == RankLaunches::kNone) continue;
      const DumpLaunch& launch = own.rows[own.of_entry[i]];
      const FlightRecorderDump::Entry& entry = dump.entries[i];
      if (launch.ended || entry.closes) continue;
      // A member that had not come had not come when it made the last entry of its dump.
      int64_t seen_ns = wait.last_ns;
      const auto members = highest.find(launch.group);
      if (launch.mutual && members != highest.end()) {
        for (const auto& [member, number] : members->second) {
          if (number < launch.sequence) seen_ns = std::max(seen_ns, last_ns.at(member));
        }
      }
      oldest_ns = std::min(oldest_ns, entry.created_ns);
      wait.given_up = wait.given_up || IsGivenUp(launch, host_ends_told);
      wait.in_flight.push_back(
          {.group = launch.group,
           .sequence = launch.sequence,
           .created_ns = entry.created_ns,
           .limit_ns = entry.timeout_ns > 0 ? entry.timeout_ns : kLongestDefaultLimitNs,
           .stood_ns = seen_ns - entry.created_ns,
           .operation = entry.operation});
    }
    if (wait.in_flight.empty()) continue;
    wait.longest_ns = LongestUntil(dump, oldest_ns);
    waits.emplace(rank, std::move(wait));
  }
  return waits;
}

std::string OldestInFlightText(const std::map<uint32_t, DumpWait>& waits, const DumpGroups& groups,
                               const std::map<uint32_t, RankLaunches>& launches) {
  const DumpWait::Operation* oldest = nullptr;
  for (const auto& [rank, wait] : waits) {
    for (const DumpWait::Operation& operation : wait.in_flight) {
      if (oldest == nullptr || operation.created_ns < oldest->created_ns) oldest = &operation;
    }
  }
  if (oldest == nullptr) return "";
  std::vector<uint32_t> launched, not_launched;
  for (const auto& [rank, own] : launches) {
    const std::vector<uint32_t>& own_groups = groups.OfRank(rank);
    if (std::ranges::find(own_groups, oldest->group) == own_groups.end()) continue;
    const bool has = std::ranges::any_of(own.rows, [&](const DumpLaunch& launch) {
      return launch.group == oldest->group && launch.sequence >= oldest->sequence;
    });
    (has ? launched : not_launched).push_back(rank);
  }
  return fmt::format(
      "The oldest of it is {} number {} of group {}, which {} launched{}.",
      ToString(oldest->operation), oldest->sequence, groups.all()[oldest->group].process_group.name,
      RanksText(launched),
      not_launched.empty() ? "" : fmt::format(", and {} did not", RanksText(not_launched)));
}

}  // namespace eroica
