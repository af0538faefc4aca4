// What was lost inside this process, by kind and reason, until a batch has told it. Any thread
// counts, without a lock; the emitter takes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "schemas/drop_reason.h"
#include "schemas/event_batch.h"

namespace eroica {

class LossCounts {
 public:
  void Add(EventKind kind, DropReason reason, uint64_t count = 1) {
    const auto reason_number = static_cast<uint8_t>(reason);
    if (reason_number >= kReasons || count == 0) return;
    pending_[static_cast<size_t>(kind)][reason_number].fetch_add(count, std::memory_order_relaxed);
    total_.fetch_add(count, std::memory_order_relaxed);
  }
  // All that was counted since the last call.
  std::vector<LossEntry> Take() {
    std::vector<LossEntry> taken;
    for (int kind = 0; kind < kEventKindCount; ++kind) {
      for (uint8_t reason = 0; reason < kReasons; ++reason) {
        const uint64_t count =
            pending_[static_cast<size_t>(kind)][reason].exchange(0, std::memory_order_relaxed);
        if (count > 0)
          taken.push_back({static_cast<EventKind>(kind), static_cast<DropReason>(reason), count});
      }
    }
    return taken;
  }
  // What was taken and could not be told after all.
  void PutBack(const std::vector<LossEntry>& losses) {
    for (const LossEntry& loss : losses) {
      pending_[static_cast<size_t>(loss.kind)][static_cast<uint8_t>(loss.reason)].fetch_add(
          loss.count, std::memory_order_relaxed);
    }
  }
  uint64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kReasons = 64;
  static_assert(static_cast<size_t>(DropReason::kTooManyFunctions) < kReasons);

  std::array<std::array<std::atomic<uint64_t>, kReasons>, kEventKindCount> pending_{};
  std::atomic<uint64_t> total_{0};
};

}  // namespace eroica
