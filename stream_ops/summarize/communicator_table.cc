#include "stream_ops/summarize/communicator_table.h"

#include <algorithm>

namespace eroica {

bool CommunicatorTable::Intern(std::span<const Communicator> communicators,
                               std::vector<uint32_t>* numbers) {
  numbers->clear();
  bool learnt = false;
  for (const Communicator& communicator : communicators) {
    const auto known = numbers_.find(communicator.id);
    if (known == numbers_.end()) {
      const bool has_room = TakeBytes(communicator);
      if (!has_room && other_ == kNone) other_ = Append({});
      const uint32_t number = has_room ? Append(communicator) : other_;
      if (has_room) numbers_.emplace(communicator.id, number);
      numbers->push_back(number);
      learnt |= has_room;
      continue;
    }
    numbers->push_back(known->second);
    CollectiveLibrary& library = communicators_[known->second].library;
    if (library == CollectiveLibrary::kUnknown && communicator.library != library) {
      library = communicator.library;  // who has launched nothing there may not know it
      learnt = true;
    }
    if (!communicator.ranks.empty() && !lists_members_[known->second] && TakeBytes(communicator)) {
      communicators_[known->second] = communicator;
      lists_members_[known->second] = true;
      learnt = true;
    }
  }
  return learnt;
}

bool CommunicatorTable::TakeBytes(const Communicator& communicator) {
  const size_t bytes = sizeof(Communicator) + communicator.name.size() +
                       communicator.description.size() +
                       communicator.ranks.size() * sizeof(uint32_t);
  if (bytes > most_bytes_ - bytes_) {
    ++overflowed_;
    return false;
  }
  bytes_ += bytes;
  return true;
}

uint32_t CommunicatorTable::Append(const Communicator& communicator) {
  communicators_.push_back(communicator);
  lists_members_.push_back(!communicator.ranks.empty());
  return size() - 1;
}

std::optional<uint32_t> CommunicatorTable::Find(CommId id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

bool CommunicatorTable::MayHoldMember(uint32_t number, RankId rank) const {
  if (IsOther(number)) return false;
  const std::vector<uint32_t>& ranks = communicators_[number].ranks;
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank.value) != ranks.end();
}

}  // namespace eroica
