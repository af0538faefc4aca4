#include "producers/nccl/operation_table.h"

#include <algorithm>

#include "producers/nccl/event_handle.h"
#include "producers/nccl/slot_state.h"

namespace eroica::nccl {
namespace {

// Bits from above: generation 32, pins 8, children that run 10, counted children that have ended
// 10, given up, stopped, live.
constexpr uint64_t kStopped = 2;
constexpr uint64_t kGivenUp = 4;
constexpr int kEndedShift = 4, kChildrenShift = 14, kPinsShift = 24;
constexpr uint64_t kCountMask = 0x3FF, kPinsMask = 0xFF;
constexpr uint64_t kOnePin = uint64_t{1} << kPinsShift;

uint64_t Ended(uint64_t state) { return state >> kEndedShift & kCountMask; }
uint64_t Children(uint64_t state) { return state >> kChildrenShift & kCountMask; }
uint64_t Pins(uint64_t state) { return state >> kPinsShift & kPinsMask; }
uint32_t Generation(uint64_t state) { return static_cast<uint32_t>(state >> kGenerationShift); }

uint64_t Changed(uint64_t state, const OperationChange& change) {
  if (change.children > 0 && Children(state) < kCountMask) state += uint64_t{1} << kChildrenShift;
  if (change.children < 0 && Children(state) > 0) {
    state -= uint64_t{1} << kChildrenShift;
    if (change.child_counts && Ended(state) < kCountMask) state += uint64_t{1} << kEndedShift;
  }
  if (change.stopped) state |= kStopped;
  if (change.given_up) state |= kGivenUp;
  return state;
}

bool Over(uint64_t state, const RunningOperation& operation) {
  if (Pins(state) > 0) return false;
  if ((state & kGivenUp) != 0) return true;
  if (Children(state) > 0) return false;
  if (operation.childless) return (state & kStopped) != 0;
  if (operation.expected_channels > 0) return Ended(state) >= operation.expected_channels;
  return Ended(state) > 0 && (state & kStopped) != 0;
}

}  // namespace

OperationTable::OperationTable(uint32_t size, uint16_t salt)
    : size_(std::min(size, kMostSlots)),
      salt_(salt),
      free_(size_),
      slots_(new RunningOperation[size_]) {
  for (uint32_t i = 0; i < size_; ++i) slots_[i].state = NextGeneration(0);
}

uint32_t OperationTable::IndexOf(const RunningOperation& operation) const {
  return static_cast<uint32_t>(&operation - slots_.get());
}

RunningOperation* OperationTable::Allocate() {
  const uint32_t index = free_.Pop();
  if (index == IndexStack::kNone) return nullptr;
  RunningOperation& slot = slots_[index];
  slot.stopped.store(false, std::memory_order_relaxed);
  slot.started.store(false, std::memory_order_relaxed);
  slot.stopped_ns.store(0, std::memory_order_relaxed);
  slot.last_news_ns.store(0, std::memory_order_relaxed);
  slot.first_start_ns.store(kNoStart, std::memory_order_relaxed);
  slot.last_stop_ns.store(kNoStop, std::memory_order_relaxed);
  slot.first_start_timer.store(kNoStart, std::memory_order_relaxed);
  slot.last_stop_timer.store(kNoStop, std::memory_order_relaxed);
  return &slot;
}

uint64_t OperationTable::HandleOf(const RunningOperation& operation) const {
  const uint64_t state = operation.state.load(std::memory_order_relaxed);
  return EventHandle{HandleKind::kOperation, salt_, static_cast<uint16_t>(IndexOf(operation)),
                     Generation(state)}
      .Encode();
}

void OperationTable::Publish(RunningOperation* operation) {
  const uint64_t state = operation->state.load(std::memory_order_relaxed);
  operation->state.store(state | kLive, std::memory_order_release);
}

RunningOperation* OperationTable::Pin(uint64_t handle) {
  const EventHandle named = EventHandle::Decode(handle);
  const bool ours = named.kind == HandleKind::kOperation && named.salt == salt_;
  if (!ours || named.index >= size_) return nullptr;
  RunningOperation& slot = slots_[named.index];
  uint64_t state = slot.state.load(std::memory_order_relaxed);
  do {
    if (Generation(state) != named.generation || (state & kLive) == 0) return nullptr;
    if (Pins(state) == kPinsMask) return nullptr;  // 255 threads at one operation: none of NCCL's
  } while (!slot.state.compare_exchange_weak(state, state + kOnePin, std::memory_order_acquire,
                                             std::memory_order_relaxed));
  return &slot;
}

int OperationTable::ChildrenOf(const RunningOperation& operation) {
  return static_cast<int>(Children(operation.state.load(std::memory_order_relaxed)));
}

OperationTable::Left OperationTable::Unpin(RunningOperation* operation,
                                           const OperationChange& change, int* children_left) {
  uint64_t state = operation->state.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t after = Changed(state - kOnePin, change);
    const bool over = Over(after, *operation);
    const uint64_t next = over ? NextGeneration(after) : after;
    if (operation->state.compare_exchange_weak(state, next, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
      *children_left = static_cast<int>(Children(after));
      return over ? Left::kOver : Left::kRuns;
    }
  }
}

void OperationTable::Free(RunningOperation* operation) { free_.Push(IndexOf(*operation)); }

}  // namespace eroica::nccl
