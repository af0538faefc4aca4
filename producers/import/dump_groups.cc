#include "producers/import/dump_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schemas/codec.h"

namespace eroica {
namespace {

using Entry = FlightRecorderDump::Entry;

// By name and on_host: whether any entry bears it.
std::vector<std::array<bool, 2>> NamesInUse(const FlightRecorderDump& dump) {
  std::vector<std::array<bool, 2>> used(dump.names.size(), {false, false});
  for (const Entry& entry : dump.entries) {
    if (entry.group != FlightRecorderDump::kNone) used[entry.group][entry.on_host ? 1 : 0] = true;
  }
  return used;
}

const ProcessGroup* Listed(const FlightRecorderDump& dump, const std::string& name) {
  if (name.empty()) return nullptr;
  const auto known = std::ranges::find(dump.groups, name, &ProcessGroup::name);
  return known == dump.groups.end() ? nullptr : &*known;
}

std::vector<int64_t> Numbers(const std::vector<uint32_t>& ranks) {
  return {ranks.begin(), ranks.end()};
}

bool HoldsAll(const MemberList& members, const std::vector<uint32_t>& ranks) {
  return std::ranges::all_of(
      ranks, [&](uint32_t rank) { return std::ranges::find(members, rank) != members.end(); });
}

// What all list without a name, where they agree.
std::optional<MemberList> NamelessMembers(const RankDumps& dumps) {
  std::optional<MemberList> members;
  for (const auto& [rank, own] : dumps) {
    for (const ProcessGroup& group : own.dump.groups) {
      if (!group.name.empty() || group.ranks.empty()) continue;
      if (members && *members != group.ranks) return std::nullopt;
      members = group.ranks;
    }
  }
  return members;
}

}  // namespace

DumpGroups::DumpGroups(const RankDumps& dumps, const World& world) {
  for (const auto& [rank, own] : dumps) {
    Places& places = places_[rank];
    places.of_name.assign(own.dump.names.size(), {kNone, kNone});
    const std::vector<std::array<bool, 2>> used = NamesInUse(own.dump);
    bool any_of_device = own.dump.entries.empty();
    for (size_t i = 0; i < used.size(); ++i) {
      any_of_device = any_of_device || used[i][0];
      const ProcessGroup* listed = Listed(own.dump, own.dump.names[i].name);
      for (const size_t on_host : {0u, 1u}) {
        if (used[i][on_host] && listed != nullptr)
          places.of_name[i][on_host] = Add(*listed, on_host == 1, world);
      }
    }
    // Those without entries: a member that launched nothing there must be known as one.
    for (const ProcessGroup& group : own.dump.groups) {
      if (!group.name.empty()) places.groups.push_back(Add(group, !any_of_device, world));
    }
  }
  AddUnlisted(dumps, world);
  for (auto& [rank, places] : places_) {
    for (const auto& row : places.of_name) {
      for (const uint32_t group : row) {
        if (group != kNone) places.groups.push_back(group);
      }
    }
    std::ranges::sort(places.groups);
    const auto rest = std::ranges::unique(places.groups);
    places.groups.erase(rest.begin(), rest.end());
    std::erase(places.groups, kNone);
    if (places.groups.size() > CodecLimits::kCommunicators)
      places.groups.resize(CodecLimits::kCommunicators);
  }
}

uint32_t DumpGroups::Add(const ProcessGroup& stated, bool on_host, const World& world) {
  Key key{stated.name, stated.description, stated.ranks.ranks(), on_host};
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) return known->second;
  ProcessGroup group = stated;
  Key twin = key;
  std::get<bool>(twin) = !on_host;
  if (numbers_.contains(twin)) group.description += on_host ? " over gloo" : " on devices";
  members_ += group.ranks.size();
  if (world.Outside(group.ranks) || members_ > RankTrace::kMaxMembers) group.ranks = {};
  const auto number = static_cast<uint32_t>(groups_.size());
  numbers_.emplace(std::move(key), number);
  groups_.push_back({std::move(group), on_host});
  return number;
}

void DumpGroups::AddUnlisted(const RankDumps& dumps, const World& world) {
  std::map<std::pair<std::string, bool>, Unlisted> unlisted;
  const auto each = [&](auto visit) {
    for (const auto& [rank, own] : dumps) {
      const std::vector<std::array<bool, 2>> used = NamesInUse(own.dump);
      for (size_t i = 0; i < used.size(); ++i) {
        for (const size_t on_host : {0u, 1u}) {
          if (used[i][on_host] && places_[rank].of_name[i][on_host] == kNone)
            visit(rank, own.dump.names[i], on_host, &places_[rank].of_name[i][on_host]);
        }
      }
    }
  };
  each([&](uint32_t rank, const FlightRecorderDump::GroupName& name, size_t on_host, uint32_t*) {
    Unlisted& row = unlisted[{name.name, on_host == 1}];
    row.description = name.description;
    row.ranks.push_back(rank);
  });
  std::map<std::pair<std::string, bool>, uint32_t> numbers;
  for (const auto& [key, row] : unlisted) {
    ProcessGroup group{.name = key.first, .description = row.description};
    group.ranks = MembersOf(key.first, row, unlisted.size(), dumps, world);
    group.size = static_cast<uint32_t>(group.ranks.size());
    numbers[key] = Add(group, key.second, world);
  }
  each([&](uint32_t, const FlightRecorderDump::GroupName& name, size_t on_host, uint32_t* place) {
    *place = numbers.at({name.name, on_host == 1});
  });
  // A rank without any entry launched nothing in the one group that there is.
  if (numbers.size() != 1) return;
  const MemberList& members = groups_[numbers.begin()->second].process_group.ranks;
  for (auto& [rank, places] : places_) {
    if (std::ranges::find(members, rank) != members.end())
      places.groups.push_back(numbers.begin()->second);
  }
}

MemberList DumpGroups::MembersOf(const std::string& name, const Unlisted& unlisted,
                                 size_t unlisted_groups, const RankDumps& dumps,
                                 const World& world) const {
  for (const auto& [rank, own] : dumps) {  // another rank may list it
    const ProcessGroup* listed = Listed(own.dump, name);
    if (listed == nullptr) continue;
    if (HoldsAll(listed->ranks, unlisted.ranks)) return listed->ranks;
  }
  if (unlisted.description == "default_pg") return world.All();
  const std::optional<MemberList> nameless =
      unlisted_groups == 1 ? NamelessMembers(dumps) : std::nullopt;
  if (nameless && HoldsAll(*nameless, unlisted.ranks)) return *nameless;
  return MemberList::Of(Numbers(unlisted.ranks)).value_or(MemberList());
}

uint32_t DumpGroups::Of(uint32_t rank, const Entry& entry) const {
  if (entry.group == kNone) return kNone;
  return places_.at(rank).of_name[entry.group][entry.on_host ? 1 : 0];
}

const std::vector<uint32_t>& DumpGroups::OfRank(uint32_t rank) const {
  return places_.at(rank).groups;
}

}  // namespace eroica
