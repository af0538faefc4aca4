// The free slots of a fixed pool, as a stack of indices that any thread pushes to and pops from
// without a lock. Allocates when it is made and never again. The head carries a tag that every
// change counts up, so that an index which was popped and pushed in between is not taken for
// unchanged.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace eroica::nccl {

class IndexStack {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Holds 0 .. size - 1, the lowest on top.
  explicit IndexStack(uint32_t size) : next_(new std::atomic<uint32_t>[size]) {
    for (uint32_t i = 0; i < size; ++i) next_[i] = i + 1 < size ? i + 1 : kNone;
    head_ = size > 0 ? 0 : uint64_t{kNone};
  }

  uint32_t Pop() {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != kNone) {
      const uint32_t next = next_[static_cast<uint32_t>(head)].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, NextTag(head) | next, std::memory_order_acquire)) {
        return static_cast<uint32_t>(head);
      }
    }
    return kNone;
  }

  // Of an index that was popped and not pushed since.
  void Push(uint32_t index) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[index].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, NextTag(head) | index, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

 private:
  static uint64_t NextTag(uint64_t head) { return ((head >> 32) + 1) << 32; }

  std::atomic<uint64_t> head_{0};
  std::unique_ptr<std::atomic<uint32_t>[]> next_;
};

}  // namespace eroica::nccl
