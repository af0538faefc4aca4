#include "tests/simulation/group_coordinator.h"

#include <algorithm>

namespace eroica::testing {

void GroupCoordinator::Advance(TimePoint now) {
  now_ = now;
  for (auto& [name, group] : groups_) {
    const size_t given_up = std::erase_if(
        group.members, [&](const auto& entry) { return now - entry.second.heard_at > kSession; });
    if (given_up > 0) TakeBack(&group);
    const bool all_came = std::ranges::all_of(
        group.members, [](const auto& entry) { return entry.second.came_again; });
    if (group.moving && all_came && !group.members.empty()) GiveOut(&group);
  }
}

void GroupCoordinator::TakeBack(Group* group) {
  group->moving = true;
  for (auto& [number, member] : group->members) member.came_again = false;
}

// Turned with each generation, so that partitions move more than a broker would move them.
void GroupCoordinator::GiveOut(Group* group) {
  group->moving = false;
  ++group->generation;
  std::vector<Member*> members;
  for (auto& [number, member] : group->members) {
    member.partitions.clear();
    members.push_back(&member);
  }
  for (int32_t partition = 0; partition < group->partitions; ++partition) {
    const uint64_t turn = group->generation + static_cast<uint64_t>(partition);
    members[turn % members.size()]->partitions.push_back(partition);
  }
}

uint64_t GroupCoordinator::Join(const std::string& name, const std::string& instance,
                                int32_t partitions) {
  Group& group = groups_[name];
  group.partitions = partitions;
  const uint64_t number = ++last_member_;
  const auto former = std::ranges::find_if(group.members, [&](const auto& entry) {
    return !instance.empty() && entry.second.instance == instance;
  });
  if (former != group.members.end()) {
    Member member = std::move(former->second);
    group.fenced.insert(former->first);
    group.members.erase(former);
    member.heard_at = now_;
    member.came_again = true;
    group.members.emplace(number, std::move(member));
    return number;
  }
  TakeBack(&group);
  group.members.emplace(
      number, Member{.instance = instance, .heard_at = now_, .came_again = true, .partitions = {}});
  return number;
}

void GroupCoordinator::Leave(const std::string& name, uint64_t number) {
  Group& group = groups_[name];
  const auto member = group.members.find(number);
  if (member == group.members.end() || !member->second.instance.empty()) return;
  group.members.erase(member);
  TakeBack(&group);
}

GroupCoordinator::MemberState GroupCoordinator::Hear(const std::string& name, uint64_t number) {
  Group& group = groups_[name];
  if (group.fenced.contains(number)) return MemberState::kFenced;
  const auto found = group.members.find(number);
  if (found == group.members.end()) return MemberState::kGivenUp;
  Member& member = found->second;
  member.heard_at = now_;
  if (!group.moving) return MemberState::kOwns;
  return member.came_again ? MemberState::kWaits : MemberState::kComeAgain;
}

void GroupCoordinator::Rejoin(const std::string& name, uint64_t number) {
  Group& group = groups_[name];
  const auto member = group.members.find(number);
  if (member != group.members.end()) member->second.came_again = true;
}

std::vector<int32_t> GroupCoordinator::Partitions(const std::string& name, uint64_t number) {
  return groups_[name].members.at(number).partitions;
}

bool GroupCoordinator::MayCommit(const std::string& name, uint64_t number, uint64_t generation) {
  const Group& group = groups_[name];
  return group.generation == generation && group.members.contains(number);
}

bool GroupCoordinator::Silent(const std::string& name, uint64_t number) {
  const Group& group = groups_[name];
  const auto member = group.members.find(number);
  return member == group.members.end() || now_ - member->second.heard_at > kSession;
}

// A member that died is an owner until its session is over.
bool GroupCoordinator::Settled() const {
  return std::ranges::none_of(groups_, [this](const auto& named) {
    const Group& group = named.second;
    return group.moving || std::ranges::any_of(group.members, [this](const auto& member) {
             return now_ - member.second.heard_at > kSession / 4;
           });
  });
}

}  // namespace eroica::testing
