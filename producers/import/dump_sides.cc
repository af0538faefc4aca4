#include "producers/import/dump_sides.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace eroica {
namespace {

struct Exchange {
  uint32_t rank = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
};

// The one whose sizes differ from those that all others have; nothing where there is none.
std::optional<uint32_t> OddOne(const std::vector<Exchange>& members) {
  constexpr size_t kFewestPeers = 2;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint32_t>> by_size;
  for (const Exchange& own : members) by_size[{own.sent, own.received}].push_back(own.rank);
  if (by_size.size() != 2 || members.size() <= kFewestPeers) return std::nullopt;
  for (const auto& [size, ranks] : by_size) {
    if (ranks.size() == 1) return ranks.front();
  }
  return std::nullopt;
}

bool KeepTheirBytes(const std::vector<Exchange>& members) {
  uint64_t more_sent = 0;  // modulo 2^64, which an honest sum is far below
  for (const Exchange& own : members) more_sent += own.sent - own.received;
  return more_sent == 0;
}

}  // namespace

DumpSides SidesOf(const RankDumps& dumps, const DumpGroups& groups,
                  const std::map<uint32_t, RankLaunches>& launches) {
  std::map<std::pair<uint32_t, int64_t>, std::vector<Exchange>> exchanges;
  for (const auto& [rank, own] : dumps) {
    const RankLaunches& launched = launches.at(rank);
    for (size_t i = 0; i < own.dump.entries.size(); ++i) {
      const FlightRecorderDump::Entry& entry = own.dump.entries[i];
      if (entry.operation != CollectiveOperation::kAllToAll ||
          launched.of_entry[i] == RankLaunches::kNone)
        continue;
      const DumpLaunch& launch = launched.rows[launched.of_entry[i]];
      if (!launch.ended && launch.entries == 1)
        exchanges[{launch.group, launch.sequence}].push_back({rank, entry.bytes, entry.bytes_out});
    }
  }
  DumpSides sides;
  for (const auto& [key, members] : exchanges) {
    const auto& [group, sequence] = key;
    const size_t all = groups.all()[group].process_group.ranks.size();
    const bool unknown = std::ranges::any_of(
        members, [](const Exchange& own) { return own.sent == 0 && own.received == 0; });
    if (members.size() < 2 || members.size() != all || unknown) continue;
    if (const std::optional<uint32_t> odd = OddOne(members)) {
      sides[{group, sequence, *odd}] = 1;
    } else if (!KeepTheirBytes(members)) {
      // Nobody is in the right: each on a side of its own.
      constexpr size_t kSides = 255;
      for (size_t i = 0; i < members.size(); ++i)
        sides[{group, sequence, members[i].rank}] = static_cast<uint8_t>(i % kSides + 1);
    }
  }
  return sides;
}

}  // namespace eroica
