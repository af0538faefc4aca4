// The communicators of a job under dense numbers. A job that never stops making new ones must not
// fill the memory: beyond so many bytes all new ones are one, of which nobody is a member. Owner:
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica {

class CommunicatorTable {
 public:
  static constexpr size_t kMostBytes = size_t{256} << 20;  // of names and lists of members

  explicit CommunicatorTable(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // numbers[i] is the number of communicators[i]. True where something was learnt: a new
  // communicator, the members of one, or its library.
  bool Intern(std::span<const Communicator> communicators, std::vector<uint32_t>* numbers);
  const Communicator& operator[](uint32_t number) const { return communicators_[number]; }
  uint32_t size() const { return static_cast<uint32_t>(communicators_.size()); }
  // Nothing where there is no such communicator.
  std::optional<uint32_t> Find(CommId id) const;
  // True where the members are unknown.
  bool MayHoldMember(uint32_t number, RankId rank) const;
  // It stands for those that found no place of their own. Its id is 0: not known.
  bool IsOther(uint32_t number) const { return number == other_; }
  // Communicators and lists that found no place, counted each time.
  uint64_t overflowed() const { return overflowed_; }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  bool TakeBytes(const Communicator& communicator);
  uint32_t Append(const Communicator& communicator);

  size_t most_bytes_;
  size_t bytes_ = 0;
  uint32_t other_ = kNone;
  uint64_t overflowed_ = 0;
  std::vector<Communicator> communicators_;
  std::vector<bool> lists_members_;  // of each; every batch asks, of thousands
  std::unordered_map<CommId, uint32_t> numbers_;
};

}  // namespace eroica
