#include "producers/import/dump_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace eroica {
namespace {

struct Found {
  bool entries = false;
  bool of_hosts = false;
  bool in_flight = false;
};
Found FindAny(const RankDumps& dumps, const std::map<uint32_t, RankLaunches>& launches) {
  Found found;
  for (const auto& [rank, own] : dumps) {
    found.entries = found.entries || !own.dump.entries.empty();
    for (const DumpLaunch& launch : launches.at(rank).rows) {
      found.of_hosts = found.of_hosts || launch.on_host;
      found.in_flight = found.in_flight || !launch.ended;
    }
  }
  return found;
}

std::string NameOf(const ProcessGroup& group) {
  return group.description.empty() ? group.name
                                   : fmt::format("{} ({})", group.name, group.description);
}

std::string SecondsText(int64_t ns) {
  return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
}

// When the members of one group entered its collectives: by number and rank.
struct Entered {
  int64_t created_ns = 0;
  int64_t timeout_ns = 0;
};
using EnteredByRank = std::map<uint32_t, Entered>;

int64_t Median(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

int64_t MedianTime(const EnteredByRank& members) {
  std::vector<int64_t> times;
  for (const auto& [rank, entered] : members) times.push_back(entered.created_ns);
  return Median(std::move(times));
}

// How much later each rank's clock, or the rank, is than the median in the numbers before.
std::map<uint32_t, int64_t> UsualOffsets(const std::map<int64_t, EnteredByRank>& numbers,
                                         int64_t before) {
  std::map<uint32_t, std::vector<int64_t>> offsets;
  for (const auto& [number, members] : numbers) {
    if (number >= before) break;
    const int64_t median_ns = MedianTime(members);
    for (const auto& [rank, entered] : members)
      offsets[rank].push_back(entered.created_ns - median_ns);
  }
  std::map<uint32_t, int64_t> usual;
  for (auto& [rank, values] : offsets) usual[rank] = Median(std::move(values));
  return usual;
}

// Ranks that entered when the time limit of the first had passed, by the clocks as they were
// before.
void AddLate(const ProcessGroup& group, const std::map<int64_t, EnteredByRank>& numbers,
             std::vector<std::string>* open) {
  constexpr size_t kFewestBefore = 3;  // by which clocks are compared
  size_t behind = 0;
  for (const auto& [number, members] : numbers) {
    if (behind++ < kFewestBefore || members.size() < 2) continue;
    const std::map<uint32_t, int64_t> usual = UsualOffsets(numbers, number);
    std::optional<int64_t> first_ns;
    const auto corrected = [&](uint32_t rank, const Entered& entered) {
      const auto known = usual.find(rank);
      return entered.created_ns - (known == usual.end() ? 0 : known->second);
    };
    for (const auto& [rank, entered] : members)
      first_ns = std::min(first_ns.value_or(corrected(rank, entered)), corrected(rank, entered));
    bool any = false;
    for (const auto& [rank, entered] : members) {
      const int64_t late_ns = corrected(rank, entered) - *first_ns;
      if (entered.timeout_ns <= 0 || late_ns <= entered.timeout_ns) continue;
      open->push_back(fmt::format(
          "Rank {} entered number {} of group {} {} after the first of its peers, whose time limit "
          "is {}: they had given it up. What rank {} did meanwhile is in no dump: look at its "
          "standard error and at its stacks (py-spy dump) before the limit passes.",
          rank, number, NameOf(group), SecondsText(late_ns), SecondsText(entered.timeout_ns),
          rank));
      any = true;
    }
    if (any) return;  // what follows fails because of it
  }
}

// Gloo records no end: what was given up shows in the times alone.
void AddGivenUp(const RankDumps& dumps, const DumpGroups& groups,
                const std::map<uint32_t, RankLaunches>& launches, std::vector<std::string>* open) {
  constexpr int64_t kLooked = 64;  // numbers before the last of a group
  std::vector<int64_t> last(groups.all().size(), 0);
  for (const auto& [rank, own] : launches) {
    for (const DumpLaunch& launch : own.rows) {
      if (launch.on_host && launch.mutual)
        last[launch.group] = std::max(last[launch.group], launch.sequence);
    }
  }
  std::map<uint32_t, std::map<int64_t, EnteredByRank>> entered;  // by group
  for (const auto& [rank, own] : launches) {
    const std::vector<FlightRecorderDump::Entry>& entries = dumps.at(rank).dump.entries;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (own.of_entry[i] == RankLaunches::kNone) continue;
      const DumpLaunch& launch = own.rows[own.of_entry[i]];
      if (launch.on_host && launch.mutual && launch.sequence + kLooked > last[launch.group])
        entered[launch.group][launch.sequence][rank] = {entries[i].created_ns,
                                                        entries[i].timeout_ns};
    }
  }
  for (const auto& [group, numbers] : entered)
    AddLate(groups.all()[group].process_group, numbers, open);
}

// Members that end earlier in a group than others who have behind them what they launched since.
void AddShorter(const RankDumps& dumps, const DumpGroups& groups,
                const std::map<uint32_t, RankLaunches>& launches, std::vector<std::string>* open) {
  std::vector<std::map<uint32_t, int64_t>> last(groups.all().size());  // by group and rank
  for (const auto& [rank, own] : launches) {
    if (dumps.at(rank).dump.from_the_first) {
      for (const uint32_t group : groups.OfRank(rank)) last[group][rank] = 0;
    }
    for (const DumpLaunch& launch : own.rows) {
      if (launch.point_to_point) continue;
      int64_t& number = last[launch.group][rank];
      number = std::max(number, launch.sequence);
    }
  }
  for (size_t group = 0; group < last.size(); ++group) {
    if (last[group].size() < 2) continue;
    const auto by_number = [](const auto& x, const auto& y) { return x.second < y.second; };
    const auto [least, most] = std::ranges::minmax_element(last[group], by_number);
    if (least->second == most->second) continue;
    open->push_back(fmt::format(
        "The dump of rank {} ends with number {} of group {}, that of rank {} with {}, and what "
        "lies between has ended there or was given up: the first was written earlier, or its rank "
        "left "
        "out an operation in which not all wait for it.",
        least->first, least->second, NameOf(groups.all()[group].process_group), most->first,
        most->second));
    return;
  }
}

}  // namespace

std::vector<std::string> WhatDumpsLeaveOpen(const RankDumps& dumps, const DumpGroups& groups,
                                            const std::map<uint32_t, RankLaunches>& launches) {
  std::vector<std::string> open;
  const Found found = FindAny(dumps, launches);
  if (!found.entries) {
    open.push_back(
        "No dump holds an entry: the recorders were off, or nothing was launched before the dumps "
        "were written. Set TORCH_FR_BUFFER_SIZE (older: TORCH_NCCL_TRACE_BUFFER_SIZE) to 2000 "
        "before the job starts.");
    return open;
  }
  AddGivenUp(dumps, groups, launches, &open);
  if (found.in_flight) return open;
  AddShorter(dumps, groups, launches, &open);
  open.push_back(
      found.of_hosts
          ? "Nothing is in flight in any dump: the job stood in what the recorder does not record, "
            "or did not stand. Gloo records no send, recv and monitored_barrier. The stacks of all "
            "ranks (py-spy dump), taken while the job stands, would tell."
          : "Nothing is in flight in any dump: no rank waited in a collective when they were "
            "written. The stacks of all ranks (py-spy dump), taken while the job stands, would "
            "tell.");
  return open;
}

}  // namespace eroica
