// The communicators of a job under dense numbers. Owner: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica {

class CommunicatorTable {
 public:
  // numbers[i] is the number of communicators[i]. True where something was learnt: a new
  // communicator, or the members of one.
  bool Intern(std::span<const Communicator> communicators, std::vector<uint32_t>* numbers);
  const Communicator& operator[](uint32_t number) const { return communicators_[number]; }
  uint32_t size() const { return static_cast<uint32_t>(communicators_.size()); }
  // Nothing where there is no such communicator.
  std::optional<uint32_t> Find(CommId id) const;
  // True where the members are unknown.
  bool MayHoldMember(uint32_t number, RankId rank) const;

 private:
  std::vector<Communicator> communicators_;
  std::vector<bool> lists_members_;  // of each; every batch asks, of thousands
  std::unordered_map<CommId, uint32_t> numbers_;
};

}  // namespace eroica
