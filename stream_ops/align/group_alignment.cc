#include "stream_ops/align/group_alignment.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "schemas/check.h"
#include "schemas/synchronizing_operation.h"
#include "stream_ops/align/saturating_sum.h"

namespace eroica {
namespace {

constexpr uint32_t kNoGroup = std::numeric_limits<uint32_t>::max();         // point to point
constexpr uint32_t kSecondTime = std::numeric_limits<uint32_t>::max() - 1;  // a duplicate

}  // namespace

void GroupAlignment::Align(const MemberRows& rows, bool settle, CollectiveSummary* summary,
                           std::span<RowFate> fates) {
  EROICA_CHECK(fates.size() == rows.size() && summary->members.size() == rows.members().size());
  Meet(rows);
  Judge(rows, settle);
  CountRows(rows, summary, fates);
  CountGroups(summary);
  CountLateSteps(summary);
  CountBlockers(summary);
}

uint32_t GroupAlignment::GroupOf(const CollectiveRecord& row) {
  if (guess_ < groups_.size() && groups_[guess_].operation == row.operation &&
      groups_[guess_].sequence == row.sequence)
    return guess_++;
  const auto [entry, is_new] = group_by_key_.try_emplace(
      {static_cast<uint8_t>(row.operation), row.sequence}, static_cast<uint32_t>(groups_.size()));
  if (is_new) {
    groups_.emplace_back();
    groups_.back().operation = row.operation;
    groups_.back().sequence = row.sequence;
  }
  guess_ = entry->second + 1;
  return entry->second;
}

void GroupAlignment::Meet(const MemberRows& rows) {
  group_by_key_.clear();
  groups_.clear();
  group_of_row_.resize(rows.size());
  slowest_.next.fill(rows.reporting() == 0 ? 0 : std::numeric_limits<uint64_t>::max());
  // of the member whose rows are being read
  std::array<uint64_t, kCollectiveOperationCount> next{};
  uint32_t reader = 0;
  const auto finish = [&](uint32_t member) {
    if (rows.members()[member].own == nullptr) return;
    for (size_t operation = 0; operation < next.size(); ++operation)
      slowest_.next[operation] = std::min(slowest_.next[operation], next[operation]);
  };
  rows.ForEach([&](uint32_t member, const CollectiveBatch& batch, const CollectiveRecord& row,
                   size_t number) {
    for (; reader < member; ++reader) {
      finish(reader);
      next.fill(0);
      guess_ = 0;
    }
    group_of_row_[number] = kNoGroup;
    if (IsPointToPoint(row.operation)) return;
    uint64_t& reached = next[static_cast<size_t>(row.operation)];
    reached = std::max(reached, NextSaturating(row.sequence));
    const uint32_t index = GroupOf(row);
    Group& group = groups_[index];
    group_of_row_[number] = group.newest == member + 1 ? kSecondTime : index;
    if (group.newest != member + 1) {
      const Member& who = rows.members()[member];
      Join(member, who.own != nullptr, batch, row, &batch == who.carried, &group);
    }
  });
  for (; reader < rows.members().size(); ++reader) {
    finish(reader);
    next.fill(0);
  }
}

void GroupAlignment::Join(uint32_t member, bool reported, const CollectiveBatch& batch,
                          const CollectiveRecord& row, bool waited, Group* group) {
  group->newest = member + 1;
  group->reporting += reported ? 1 : 0;
  group->waited |= waited;
  group->bytes = std::max(group->bytes, row.bytes);
  group->step = std::max(group->step, row.step);
  if (group->joined++ == 0 || row.duration_ns < group->shortest_ns) {
    group->second_ns =
        group->joined == 1 ? std::numeric_limits<int64_t>::max() : group->shortest_ns;
    group->shortest_ns = row.duration_ns;
    group->shortest_member = member;
    group->shortest_batch = &batch;
    group->shortest_row = &row;
  } else {
    group->second_ns = std::min(group->second_ns, row.duration_ns);
  }
}

void GroupAlignment::Judge(const MemberRows& rows, bool settle) {
  for (Group& group : groups_) {
    if (rows.reporting() == 0 || group.reporting < rows.reporting()) {
      group.fate =
          FateOfUnmatched(group.sequence < slowest_.next[static_cast<size_t>(group.operation)],
                          group.waited, settle);
      continue;
    }
    group.fate = RowFate::kAligned;
    if (group.joined < 2) continue;
    const int64_t lateness = group.second_ns - group.shortest_ns;
    const bool clear = lateness > std::max(kTieNs, group.second_ns / kTieDivisor);
    if (Synchronizes(group.operation)) {
      group.counts_waits = true;
      group.has_last = clear;
    } else {
      group.counts_waits = group.has_last = clear && lateness >= kRootedLatenessNs;
    }
  }
}

void GroupAlignment::CountRows(const MemberRows& rows, CollectiveSummary* summary,
                               std::span<RowFate> fates) {
  rows.ForEach(
      [&](uint32_t member, const CollectiveBatch&, const CollectiveRecord& row, size_t number) {
        const uint32_t index = group_of_row_[number];
        if (index == kNoGroup) return;
        if (index == kSecondTime) {
          fates[number] = RowFate::kDuplicate;
          return;
        }
        Group& group = groups_[index];
        fates[number] = group.fate;
        MemberSummary& out = summary->members[member];
        if (group.fate == RowFate::kIncomplete) ++out.incomplete;
        if (group.fate != RowFate::kAligned) return;
        ++out.count;
        if (!group.counts_waits) return;
        const int64_t wait = row.duration_ns - group.shortest_ns;
        const int64_t exposed = std::min(wait, row.exposed_ns);
        AddSaturating(wait, &out.wait_ns);
        AddSaturating(exposed, &out.exposed_wait_ns);
        if (member != group.shortest_member) AddSaturating(exposed, &group.exposed_wait_ns);
      });
}

void GroupAlignment::CountGroups(CollectiveSummary* summary) {
  std::vector<int64_t> steps;
  for (const Group& group : groups_) {
    if (group.fate == RowFate::kIncomplete) ++summary->incomplete;
    if (group.fate != RowFate::kAligned) continue;
    ++summary->operations;
    AddSaturating(group.shortest_ns, &summary->transfer_ns);
    summary->bytes += group.bytes;
    if (group.step >= 0) steps.push_back(group.step);
    if (!group.has_last) continue;
    MemberSummary& last = summary->members[group.shortest_member];
    ++last.last_count;
    AddSaturating(group.second_ns - group.shortest_ns, &last.lateness_ns);
    AddSaturating(group.exposed_wait_ns, &last.caused_wait_ns);
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  summary->steps = static_cast<uint32_t>(steps.size());
}

void GroupAlignment::CountLateSteps(CollectiveSummary* summary) {
  struct Share {
    int64_t step;
    uint32_t member;
    int64_t caused_ns;
  };
  std::vector<Share> shares;
  for (const Group& group : groups_) {
    if (group.has_last && group.step >= 0 && group.exposed_wait_ns > 0) {
      shares.push_back({group.step, group.shortest_member, group.exposed_wait_ns});
    }
  }
  std::ranges::sort(shares, {},
                    [](const Share& share) { return std::tuple(share.step, share.member); });
  for (size_t i = 0; i < shares.size();) {
    const int64_t step = shares[i].step;
    int64_t most = 0;
    uint32_t member = 0;
    bool tie = false;
    while (i < shares.size() && shares[i].step == step) {
      const uint32_t candidate = shares[i].member;
      int64_t caused = 0;
      for (; i < shares.size() && shares[i].step == step && shares[i].member == candidate; ++i) {
        AddSaturating(shares[i].caused_ns, &caused);
      }
      if (caused > most) {
        most = caused;
        member = candidate;
        tie = false;
      } else if (caused == most) {
        tie = true;
      }
    }
    std::vector<int64_t>& late_steps = summary->members[member].late_steps;
    if (!tie) late_steps.push_back(step);
  }
}

void GroupAlignment::CountBlockers(CollectiveSummary* summary) {
  struct Use {
    uint32_t member;
    const Predecessor* before;
    int64_t caused_ns;
    int64_t run_ns;
  };
  std::vector<Use> uses;
  for (const Group& group : groups_) {
    if (!group.has_last || group.shortest_row->before == 0) continue;
    const std::vector<Predecessor>& predecessors = group.shortest_batch->predecessors;
    if (group.shortest_row->before > predecessors.size()) continue;
    uses.push_back({group.shortest_member, &predecessors[group.shortest_row->before - 1],
                    group.exposed_wait_ns, group.shortest_row->before_ns});
  }
  const auto identity = [](const Use& use) { return std::tuple(use.member, use.before->function); };
  std::ranges::stable_sort(uses, {}, identity);
  for (size_t i = 0; i < uses.size();) {
    const auto [member, function] = identity(uses[i]);
    Blocker blocker{
        .function = function, .name = uses[i].before->name, .stack = uses[i].before->stack};
    for (; i < uses.size() && identity(uses[i]) == std::tuple(member, function); ++i) {
      ++blocker.count;
      AddSaturating(uses[i].caused_ns, &blocker.caused_wait_ns);
      AddSaturating(uses[i].run_ns, &blocker.run_ns);
    }
    summary->members[member].blockers.push_back(std::move(blocker));
  }
  for (MemberSummary& member : summary->members) {
    std::ranges::stable_sort(
        member.blockers, std::greater<>(),
        &Blocker::caused_wait_ns);  // equal ones stay in the order of their identity
    if (member.blockers.size() > kBlockersMax) member.blockers.resize(kBlockersMax);
  }
}

}  // namespace eroica
