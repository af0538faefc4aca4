// What the tasks of one stage of a node may hold in memory together, and who of them lets go of
// something when it is too much: those that hold their share or more, so that a job that floods
// pays itself. The pool is shared by tasks of all threads; a use of it belongs to one task.
// Before that the runtime makes room (runtime/reading_order.h): it looks at how full the pool is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace eroica {

class MemoryPool {
 public:
  explicit MemoryPool(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  uint64_t bytes_max() const { return bytes_max_; }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Half of the memory is taken, or half of what a task counts otherwise: what comes out of order
  // from the stages before would soon have no room.
  bool IsCrowded() const {
    return bytes() > bytes_max_ / 2 || crowded_uses_.load(std::memory_order_relaxed) > 0;
  }

 private:
  friend class MemoryUse;
  const uint64_t bytes_max_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> uses_{0};
  std::atomic<uint64_t> crowded_uses_{0};
};

// Of one task. Without a pool there is no bound.
class MemoryUse {
 public:
  explicit MemoryUse(std::shared_ptr<MemoryPool> pool) : pool_(std::move(pool)) {
    if (pool_ != nullptr) pool_->uses_.fetch_add(1, std::memory_order_relaxed);
  }
  ~MemoryUse() {
    Set(0);
    SetCrowded(false);
    if (pool_ != nullptr) pool_->uses_.fetch_sub(1, std::memory_order_relaxed);
  }
  MemoryUse(MemoryUse&& other) noexcept { *this = std::move(other); }
  MemoryUse& operator=(MemoryUse&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(bytes_, other.bytes_);
    std::swap(crowded_, other.crowded_);
    return *this;
  }

  void Set(uint64_t bytes) {
    if (pool_ != nullptr)
      pool_->bytes_.fetch_add(bytes - bytes_, std::memory_order_relaxed);  // wraps around rightly
    bytes_ = bytes;
  }
  // The task has a bound of another kind and has come half way to it.
  void SetCrowded(bool crowded) {
    if (crowded == crowded_) return;
    crowded_ = crowded;
    if (pool_ == nullptr) return;
    if (crowded) {
      pool_->crowded_uses_.fetch_add(1, std::memory_order_relaxed);
    } else {
      pool_->crowded_uses_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  // Of the pool's memory, by all tasks.
  bool TakesMoreThan(double share) const {
    return pool_ != nullptr &&
           static_cast<double>(pool_->bytes()) > share * static_cast<double>(pool_->bytes_max());
  }
  // The stage holds too much, and this task no less than the average.
  bool MustLetGo() const {
    if (pool_ == nullptr) return false;
    const uint64_t all = pool_->bytes();
    const uint64_t uses = pool_->uses_.load(std::memory_order_relaxed);
    return all > pool_->bytes_max_ && bytes_ * uses >= all;
  }

 private:
  std::shared_ptr<MemoryPool> pool_;
  uint64_t bytes_ = 0;
  bool crowded_ = false;
};

}  // namespace eroica
