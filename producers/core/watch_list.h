// What producers without a thread of their own have the core's thread look at: functions, called
// one after the other. Added by any thread, never removed; called by the emitter's thread alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace eroica {

class WatchList {
 public:
  using Look = void (*)(void* context);
  static constexpr uint32_t kMost = 8;

  // False: no room.
  bool Add(Look look, void* context) {
    const uint32_t place = claimed_.fetch_add(1, std::memory_order_relaxed);
    if (place >= kMost) return false;
    rows_[place].context = context;
    rows_[place].look.store(look, std::memory_order_release);
    return true;
  }
  void LookAtAll() const {
    for (const Row& row : rows_) {
      if (const Look look = row.look.load(std::memory_order_acquire)) look(row.context);
    }
  }

 private:
  struct Row {
    std::atomic<Look> look{nullptr};
    void* context = nullptr;  // set before look
  };
  std::array<Row, kMost> rows_;
  std::atomic<uint32_t> claimed_{0};
};

}  // namespace eroica
