#include "producers/nccl/communicator_pool.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "producers/nccl/slot_state.h"

namespace eroica::nccl {

CommunicatorPool::CommunicatorPool(uint32_t size, uint16_t salt)
    : size_(std::min(size, kMostSlots)),
      salt_(salt),
      free_(size_),
      slots_(new CommunicatorSlot[size_]),
      orders_(new std::unique_ptr<OperationOrder>[size_]) {
  for (uint32_t i = 0; i < size_; ++i) slots_[i].state = NextGeneration(0);
}

uint16_t CommunicatorPool::IndexOf(const CommunicatorSlot& communicator) const {
  return static_cast<uint16_t>(&communicator - slots_.get());
}

CommunicatorSlot* CommunicatorPool::Open(const CommunicatorFacts& facts, uint64_t* handle) {
  const uint32_t index = free_.Pop();
  if (index == IndexStack::kNone) return nullptr;
  CommunicatorSlot& slot = slots_[index];
  if (slot.order == nullptr) {
    orders_[index].reset(new (std::nothrow) OperationOrder{});
    slot.order = orders_[index].get();
  }
  if (slot.order == nullptr) {
    free_.Push(index);
    return nullptr;
  }
  slot.mask = nullptr;
  slot.id = facts.id;
  slot.id_known = facts.id_known;
  slot.nodes = facts.nodes;
  slot.ranks = facts.ranks;
  slot.rank = facts.rank;
  slot.name.fill('\0');
  if (facts.name != nullptr) std::strncpy(slot.name.data(), facts.name, slot.name.size() - 1);
  slot.bound = 0;
  slot.core_number = UINT16_MAX;
  slot.lane = 0;
  slot.launched = 0;
  slot.starting = 0;
  slot.plan_begin = 0;
  slot.settled = 0;
  slot.without_child = 0;
  slot.silent = false;
  slot.clock.Reset();
  const uint64_t state = slot.state.load();
  *handle = EventHandle{HandleKind::kCommunicator, salt_, static_cast<uint16_t>(index),
                        static_cast<uint32_t>(state >> kGenerationShift)}
                .Encode();
  slot.state.store(state | kLive, std::memory_order_release);
  return &slot;
}

CommunicatorSlot* CommunicatorPool::Find(uint64_t handle) {
  const EventHandle named = EventHandle::Decode(handle);
  const bool ours = named.kind == HandleKind::kCommunicator && named.salt == salt_;
  if (!ours || named.index >= size_) return nullptr;
  const uint64_t live = static_cast<uint64_t>(named.generation) << kGenerationShift | kLive;
  CommunicatorSlot& slot = slots_[named.index];
  return slot.state.load(std::memory_order_acquire) == live ? &slot : nullptr;
}

bool CommunicatorPool::Close(uint64_t handle) {
  CommunicatorSlot* slot = Find(handle);
  if (slot == nullptr) return false;
  uint64_t state =
      static_cast<uint64_t>(EventHandle::Decode(handle).generation) << kGenerationShift | kLive;
  return slot->state.compare_exchange_strong(state, NextGeneration(state));
}

void CommunicatorPool::Free(CommunicatorSlot* communicator) { free_.Push(IndexOf(*communicator)); }

}  // namespace eroica::nccl
