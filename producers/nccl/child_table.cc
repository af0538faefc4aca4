#include "producers/nccl/child_table.h"

#include <algorithm>

#include "producers/nccl/slot_state.h"

namespace eroica::nccl {
namespace {

// Bits from above: generation 32, then whether the slot is claimed and whether it is live.
constexpr uint64_t kClaimed = 2;

}  // namespace

ChildTable::ChildTable(uint32_t size, uint16_t salt)
    : size_(std::min(size, kMostSlots)),
      salt_(salt),
      free_(size_),
      slots_(new RunningChild[size_]) {
  for (uint32_t i = 0; i < size_; ++i) slots_[i].state = NextGeneration(0);
}

RunningChild* ChildTable::Allocate(HandleKind kind) {
  const uint32_t index = free_.Pop();
  if (index == IndexStack::kNone) return nullptr;
  RunningChild& slot = slots_[index];
  slot.kind = kind;
  slot.parent = kNoHandle;
  slot.start_ns = 0;
  slot.start_timer = 0;
  slot.stop_timer = 0;
  slot.is_send = false;
  slot.in_transfer = false;
  slot.peer = -1;
  slot.transfers = 0;
  slot.bytes = 0;
  slot.busy_ns = 0;
  const uint64_t state = slot.state.load(std::memory_order_relaxed);
  slot.state.store(state | kLive | kClaimed, std::memory_order_relaxed);
  return &slot;
}

uint64_t ChildTable::HandleOf(const RunningChild& child) const {
  const auto index = static_cast<uint16_t>(&child - slots_.get());
  const uint64_t state = child.state.load(std::memory_order_relaxed);
  const auto generation = static_cast<uint32_t>(state >> kGenerationShift);
  return EventHandle{child.kind, salt_, index, generation}.Encode();
}

RunningChild* ChildTable::Claim(uint64_t handle) {
  const EventHandle named = EventHandle::Decode(handle);
  const bool child = named.kind == HandleKind::kKernelChannel ||
                     named.kind == HandleKind::kProxyOperation ||
                     named.kind == HandleKind::kProxyStep;
  if (!child || named.salt != salt_ || named.index >= size_) return nullptr;
  RunningChild& slot = slots_[named.index];
  uint64_t unclaimed = static_cast<uint64_t>(named.generation) << kGenerationShift | kLive;
  if (!slot.state.compare_exchange_strong(unclaimed, unclaimed | kClaimed,
                                          std::memory_order_acquire, std::memory_order_relaxed)) {
    return nullptr;
  }
  if (slot.kind == named.kind) return &slot;
  Release(&slot);
  return nullptr;
}

void ChildTable::Release(RunningChild* child) {
  const uint64_t state = child->state.load(std::memory_order_relaxed);
  child->state.store(state & ~kClaimed, std::memory_order_release);
}

void ChildTable::Free(RunningChild* child) {
  const uint64_t state = child->state.load(std::memory_order_relaxed);
  child->state.store(NextGeneration(state), std::memory_order_release);
  free_.Push(static_cast<uint32_t>(child - slots_.get()));
}

bool ChildTable::IsLive(uint64_t handle) const {
  const EventHandle named = EventHandle::Decode(handle);
  if (named.salt != salt_ || named.index >= size_) return false;
  const uint64_t live = static_cast<uint64_t>(named.generation) << kGenerationShift | kLive;
  return (slots_[named.index].state.load(std::memory_order_relaxed) & ~kClaimed) == live;
}

RunningChild* ChildTable::ClaimNext() {
  RunningChild& slot = slots_[next_.fetch_add(1, std::memory_order_relaxed) % size_];
  uint64_t state = slot.state.load(std::memory_order_relaxed);
  const bool free_to_claim = (state & (kLive | kClaimed)) == kLive;
  return free_to_claim &&
                 slot.state.compare_exchange_strong(
                     state, state | kClaimed, std::memory_order_acquire, std::memory_order_relaxed)
             ? &slot
             : nullptr;
}

}  // namespace eroica::nccl
