// The ring between one thread that sees events and the emitter that sends them: one writer, one
// reader, neither waits for the other. A push is a few stores; it allocates nothing, locks nothing
// and makes no system call. Where there is no room the newest event is dropped, and the caller
// counts it.
//
// Slots of 24 bytes. What does not fit into one (collectives, connections) takes two, which become
// visible together.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace eroica {

enum class SlotKind : uint8_t { kInterval, kCollective, kMark, kSample, kConnection, kSecondHalf };

// One event, or half of one. What the members mean depends on the kind:
//   kInterval    a start, b end, c function, lane
//   kCollective  as kInterval, then a second half: a sequence, b bytes, c peer, d communicator, e
//                operation
//   kMark        a time, b id, c thread, d who has set it (MarkedBy), e mark kind
//   kSample      a time, c value (bits of a float), e resource
//   kConnection  a time, b bytes, c peer, d communicator, e resource, then: a busy, b retransmits,
//                e channels
struct RingSlot {
  int64_t a = 0;
  int64_t b = 0;
  uint32_t c = 0;
  uint16_t d = 0;
  uint8_t e = 0;
  SlotKind kind = SlotKind::kInterval;

  uint8_t lane() const { return e; }
};
static_assert(sizeof(RingSlot) == 24);

class EventRing {
 public:
  static constexpr size_t kCapacity = 16'384;  // a power of two; at 100,000 events a second 160 ms

  // Writer's thread. False: there is no room for all of them, nothing was written.
  bool Push(std::span<const RingSlot> slots) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head + slots.size() - known_tail_ > kCapacity) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (head + slots.size() - known_tail_ > kCapacity) return false;
    }
    for (size_t i = 0; i < slots.size(); ++i) slots_[(head + i) % kCapacity] = slots[i];
    head_.store(head + slots.size(), std::memory_order_release);
    return true;
  }

  // Writer's thread: slots that are free.
  size_t room() {
    known_tail_ = tail_.load(std::memory_order_acquire);
    return kCapacity - static_cast<size_t>(head_.load(std::memory_order_relaxed) - known_tail_);
  }

  // Reader's thread. Hands what is there to take(const RingSlot* slot, const RingSlot* second),
  // second being null for events of one slot; returns the number of events.
  template <typename Take>
  size_t Drain(Take take) {
    const uint64_t head = head_.load(std::memory_order_acquire);
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    size_t events = 0;
    for (; tail != head; ++events) {
      const RingSlot& first = slots_[tail % kCapacity];
      const bool pair =
          tail + 1 != head && slots_[(tail + 1) % kCapacity].kind == SlotKind::kSecondHalf;
      take(&first, pair ? &slots_[(tail + 1) % kCapacity] : nullptr);
      tail += pair ? 2 : 1;
    }
    tail_.store(tail, std::memory_order_release);
    return events;
  }

  // Any thread, roughly.
  size_t size() const {
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    return static_cast<size_t>(head_.load(std::memory_order_acquire) - tail);
  }

 private:
  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t known_tail_ = 0;  // the writer's
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::array<RingSlot, kCapacity> slots_;
};

}  // namespace eroica
