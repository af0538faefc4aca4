// The rings of all threads of the process, mapped at the start: a thread takes its ring at its
// first event without allocating (untouched pages cost nothing), and the emitter takes it back when
// the thread is gone and the ring is drained. Where all are taken, events of further threads are
// dropped.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "producers/core/event_ring.h"

namespace eroica {

class RingPool {
 public:
  static constexpr size_t kRings = 64;

  // Null where the memory cannot be mapped.
  static std::unique_ptr<RingPool> Make();
  ~RingPool();
  RingPool(const RingPool&) = delete;
  RingPool& operator=(const RingPool&) = delete;

  // Any thread, for itself. Null: all are taken. Lock-free.
  EventRing* Claim(pid_t thread);

  // Emitter's thread: every ring that a thread holds.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t i = 0; i < kRings; ++i) {
      if (owner_[i].load(std::memory_order_acquire) > 0) visit(rings_[i]);
    }
  }
  // Emitter's thread: takes back the drained rings of threads for which is_alive(thread) is false.
  template <typename IsAlive>
  void Reclaim(IsAlive is_alive) {
    for (size_t i = 0; i < kRings; ++i) {
      const pid_t thread = owner_[i].load(std::memory_order_acquire);
      if (thread > 0 && !is_alive(thread) && rings_[i].size() == 0)
        owner_[i].store(0, std::memory_order_release);
    }
  }

  // Bytes of the rings that were ever taken.
  size_t memory_bytes() const { return used_.load(std::memory_order_relaxed) * sizeof(EventRing); }

 private:
  explicit RingPool(EventRing* rings) : rings_(rings) {}

  EventRing* const rings_;
  std::array<std::atomic<pid_t>, kRings> owner_{};  // 0: free
  std::atomic<size_t> used_{0};                     // rings 0 .. used - 1 were taken at least once
};

}  // namespace eroica
