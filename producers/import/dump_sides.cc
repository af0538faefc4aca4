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

// What each member gives to a gather or takes of a scatter: one size for all.
uint64_t ShareOf(const FlightRecorderDump::Entry& entry) {
  if (entry.operation == CollectiveOperation::kGather) return entry.bytes;
  return entry.operation == CollectiveOperation::kScatter ? entry.bytes_out : 0;
}

// Of several sizes the one that most members have is side 0.
void AddSizes(uint32_t group, int64_t sequence,
              const std::map<uint64_t, std::vector<uint32_t>>& by_size, DumpSides* sides) {
  if (by_size.size() < 2) return;
  const auto most =
      std::ranges::max_element(by_size, {}, [](const auto& row) { return row.second.size(); });
  constexpr uint8_t kSides = 255;
  uint8_t side = 0;
  for (const auto& [size, ranks] : by_size) {
    if (size == most->first || side == kSides) continue;
    ++side;
    for (const uint32_t rank : ranks) (*sides)[{group, sequence, rank}] = side;
  }
}

}  // namespace

DumpSides SidesOf(const RankDumps& dumps, const DumpGroups& groups,
                  const std::map<uint32_t, RankLaunches>& launches) {
  std::map<std::pair<uint32_t, int64_t>, std::vector<Exchange>> exchanges;
  std::map<std::pair<uint32_t, int64_t>, std::map<uint64_t, std::vector<uint32_t>>> shares;
  for (const auto& [rank, own] : dumps) {
    const RankLaunches& launched = launches.at(rank);
    for (size_t i = 0; i < own.dump.entries.size(); ++i) {
      const FlightRecorderDump::Entry& entry = own.dump.entries[i];
      if (launched.of_entry[i] == RankLaunches::kNone) continue;
      const DumpLaunch& launch = launched.rows[launched.of_entry[i]];
      if (launch.ended || launch.entries > 1) continue;
      if (const uint64_t share = ShareOf(entry); share > 0)
        shares[{launch.group, launch.sequence}][share].push_back(rank);
      if (entry.operation == CollectiveOperation::kAllToAll)
        exchanges[{launch.group, launch.sequence}].push_back({rank, entry.bytes, entry.bytes_out});
    }
  }
  DumpSides sides;
  for (const auto& [key, by_size] : shares) AddSizes(key.first, key.second, by_size, &sides);
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
