#include "stream_ops/summarize/communicator_table.h"

#include <algorithm>

namespace eroica {

bool CommunicatorTable::Intern(std::span<const Communicator> communicators,
                               std::vector<uint32_t>* numbers) {
  numbers->clear();
  bool learnt = false;
  for (const Communicator& communicator : communicators) {
    const auto [entry, is_new] = numbers_.try_emplace(communicator.id, size());
    numbers->push_back(entry->second);
    if (is_new) {
      communicators_.push_back(communicator);
      lists_members_.push_back(!communicator.ranks.empty());
      learnt = true;
    } else if (!communicator.ranks.empty() && !lists_members_[entry->second]) {
      communicators_[entry->second] = communicator;
      lists_members_[entry->second] = true;
      learnt = true;
    }
  }
  return learnt;
}

std::optional<uint32_t> CommunicatorTable::Find(CommId id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

bool CommunicatorTable::MayHoldMember(uint32_t number, RankId rank) const {
  const std::vector<uint32_t>& ranks = communicators_[number].ranks;
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank.value) != ranks.end();
}

}  // namespace eroica
