#include "producers/core/ring_pool.h"

#include <sys/mman.h>

#include <new>

namespace eroica {

std::unique_ptr<RingPool> RingPool::Make() {
  void* memory = ::mmap(nullptr, kRings * sizeof(EventRing), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Fresh pages are zero, which is what an empty ring is made of: constructing them would touch
  // them.
  return std::unique_ptr<RingPool>(new RingPool(static_cast<EventRing*>(memory)));
}

RingPool::~RingPool() { ::munmap(static_cast<void*>(rings_), kRings * sizeof(EventRing)); }

EventRing* RingPool::Claim(pid_t thread) {
  for (size_t i = 0; i < kRings; ++i) {
    pid_t free = 0;
    if (!owner_[i].compare_exchange_strong(free, thread, std::memory_order_acq_rel)) continue;
    size_t used = used_.load(std::memory_order_relaxed);
    while (used < i + 1 && !used_.compare_exchange_weak(used, i + 1, std::memory_order_relaxed)) {
    }
    return &rings_[i];
  }
  return nullptr;
}

}  // namespace eroica
