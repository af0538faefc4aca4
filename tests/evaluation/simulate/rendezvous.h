// Where the members of a communicator meet, operation after operation; a sender and its receiver
// likewise. Each operation is a slot: it moves from its last arrival on.
//
// A member may join several slots before the first is full; it never waits to join. Slots end in
// order, since all members run them on one stream each: when slot k has ended and all have joined
// slot k + 1, that one can end too. A slot whose members ran different operations or sizes, and one
// in which a transfer stands still, never ends, nor does any after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/transfer.h"

namespace eroica::simulate {

// A moment that does not come. Durations may be added to it.
inline constexpr int64_t kNeverNs = int64_t{1} << 61;

class Rendezvous {
 public:
  static constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

  // That not all have joined, or that cannot end yet.
  struct OpenSlot {
    int64_t latest_ready_ns = 0;  // of the members that joined
    uint64_t declared_bytes = 0;  // must be equal among members
    uint64_t bytes = 0;           // the largest of what members move
    uint32_t joined = 0;
    uint32_t step = 0;
    CollectiveOperation operation = CollectiveOperation::kUnknown;
    bool impossible = false;
    uint32_t broken = kNobody;  // member whose transfer stands still
  };
  struct EndedSlot {
    int64_t begin_ns = 0;  // of the transfer
    int64_t end_ns = 0;
    Factor noise = kUnit;
    uint16_t transfer = 0;  // index into transfers
  };
  struct Joining {
    int64_t ready_ns = 0;
    CollectiveOperation operation = CollectiveOperation::kUnknown;
    uint64_t declared_bytes = 0;
    uint64_t bytes = 0;
    bool stands_still = false;
    uint32_t member = 0;
    uint32_t step = 0;
  };
  // What transfers of this rendezvous take, by operation and size; valid as long as its members'
  // links and paths stay as they are.
  struct KnownTransfer {
    CollectiveOperation operation = CollectiveOperation::kUnknown;
    uint64_t bytes = 0;
    Transfer transfer;
  };

  // members: ranks in group order; of a channel: source, destination. Must outlive this.
  explicit Rendezvous(std::span<const uint32_t> members) : members_(members) {}

  // A member joins its next slot. True if the oldest open slot can end now.
  bool Join(uint32_t slot, const Joining& joining) {
    const size_t place = first_open_ + (slot - ended());
    if (place >= open_.size()) open_.resize(place + 1);
    OpenSlot& at = open_[place];
    if (at.joined == 0) {
      at.latest_ready_ns = joining.ready_ns;
      at.operation = joining.operation;
      at.declared_bytes = joining.declared_bytes;
      at.step = joining.step;
    }
    at.impossible |= at.operation != joining.operation ||
                     at.declared_bytes != joining.declared_bytes || joining.stands_still;
    if (joining.stands_still) at.broken = joining.member;
    if (joining.ready_ns > at.latest_ready_ns) at.latest_ready_ns = joining.ready_ns;
    if (joining.bytes > at.bytes) at.bytes = joining.bytes;
    ++at.joined;
    return place == first_open_ && CanEnd();
  }
  bool CanEnd() const {
    if (first_open_ >= open_.size()) return false;
    const OpenSlot& at = open_[first_open_];
    return at.joined == members_.size() && !at.impossible && at.latest_ready_ns < kNeverNs;
  }
  // The oldest open slot. Requires CanEnd().
  const OpenSlot& open() const { return open_[first_open_]; }
  // The oldest open slot, where all have joined and a transfer stands still; nullptr else.
  const OpenSlot* StandingStill() const {
    if (first_open_ >= open_.size()) return nullptr;
    const OpenSlot& at = open_[first_open_];
    return at.joined == members_.size() && at.broken != kNobody && at.latest_ready_ns < kNeverNs
               ? &at
               : nullptr;
  }
  void EndOpen(const EndedSlot& slot) {
    ended_.push_back(slot);
    if (++first_open_ < open_.size()) return;
    open_.clear();
    first_open_ = 0;
  }

  uint32_t ended() const { return base_ + static_cast<uint32_t>(ended_.size()); }  // slots
  // Of a slot that has ended after the last call of Forget.
  const EndedSlot& slot(uint32_t number) const { return ended_[number - base_]; }
  // When the slot before ended; 0 for the first. Requires that it has.
  int64_t EndBefore(uint32_t slot) const {
    return slot <= base_ ? last_forgotten_end_ns_ : ended_[slot - base_ - 1].end_ns;
  }
  // Of a slot given up long ago: the end of the last that was.
  int64_t EndOf(uint32_t slot) const {
    return slot < base_ ? last_forgotten_end_ns_ : ended_[slot - base_].end_ns;
  }
  // Gives up the slots that have ended, but for the end of the last.
  void Forget();

  std::span<const uint32_t> members() const { return members_; }

  std::vector<KnownTransfer> transfers;
  // of the ranks that rest until a slot ends: a chain through RankState::next_waiter
  uint32_t first_waiter = kNobody;

 private:
  static constexpr size_t kMostTransfers = 64;  // kept from step to step

  std::span<const uint32_t> members_;
  std::vector<EndedSlot> ended_;  // from number base_ on
  std::vector<OpenSlot> open_;    // those after, from first_open_ on
  size_t first_open_ = 0;
  uint32_t base_ = 0;
  int64_t last_forgotten_end_ns_ = 0;
};

}  // namespace eroica::simulate
