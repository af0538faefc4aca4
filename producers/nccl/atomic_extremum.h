// The least and the most of what several threads have seen. Relaxed: only the value counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace eroica::nccl {

inline void LowerTo(std::atomic<int64_t>& least, int64_t value) {
  int64_t known = least.load(std::memory_order_relaxed);
  while (value < known && !least.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

inline void RaiseTo(std::atomic<int64_t>& most, int64_t value) {
  int64_t known = most.load(std::memory_order_relaxed);
  while (value > known && !most.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace eroica::nccl
