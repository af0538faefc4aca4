#include "producers/cupti/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

namespace eroica {

std::unique_ptr<BufferPool> BufferPool::Create(const Options& options) {
  const size_t bytes =
      options.buffers * options.buffer_bytes + options.spares * options.spare_bytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<BufferPool>(new BufferPool(options, static_cast<uint8_t*>(memory), bytes));
}

BufferPool::BufferPool(const Options& options, uint8_t* memory, size_t memory_bytes)
    : options_(options),
      memory_(memory),
      memory_bytes_(memory_bytes),
      slots_(options.buffers + options.spares) {
  uint8_t* next = memory;
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].data = next;
    slots_[i].bytes = i < options.buffers ? options.buffer_bytes : options.spare_bytes;
    next += slots_[i].bytes;
  }
}

BufferPool::~BufferPool() { munmap(memory_, memory_bytes_); }

void BufferPool::Request(uint8_t** buffer, size_t* bytes) {
  if (Lend(0, options_.buffers, buffer, bytes)) return;
  if (Steal(buffer, bytes)) return;
  crowded_.store(true, std::memory_order_relaxed);
  if (Lend(options_.buffers, slots_.size(), buffer, bytes)) return;
  refused_.fetch_add(1, std::memory_order_relaxed);
  *buffer = nullptr;
  *bytes = 0;
}

bool BufferPool::Lend(size_t first, size_t last, uint8_t** buffer, size_t* bytes) {
  for (size_t i = first; i < last; ++i) {
    State free = State::kFree;
    if (!slots_[i].state.compare_exchange_strong(free, State::kLent, std::memory_order_acquire)) {
      continue;
    }
    *buffer = slots_[i].data;
    *bytes = slots_[i].bytes;
    return true;
  }
  return false;
}

bool BufferPool::Steal(uint8_t** buffer, size_t* bytes) {
  // Each try fails only if the reader or another thread took that buffer meanwhile.
  for (size_t i = OldestCompleted(); i < slots_.size(); i = OldestCompleted()) {
    Slot& slot = slots_[i];
    State completed = State::kCompleted;
    if (!slot.state.compare_exchange_strong(completed, State::kLent, std::memory_order_acquire)) {
      continue;
    }
    stolen_.fetch_add(1, std::memory_order_relaxed);
    stolen_bytes_.fetch_add(slot.valid_bytes.load(std::memory_order_relaxed),
                            std::memory_order_relaxed);
    *buffer = slot.data;
    *bytes = slot.bytes;
    return true;
  }
  return false;
}

void BufferPool::Complete(uint8_t* buffer, size_t valid_bytes) {
  const size_t i = SlotOf(buffer);
  if (i == slots_.size()) {
    foreign_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Slot& slot = slots_[i];
  State state = slot.state.load(std::memory_order_relaxed);
  if (state != State::kLent && state != State::kAbandoned) {
    foreign_.fetch_add(1, std::memory_order_relaxed);  // brought back twice
    return;
  }
  slot.valid_bytes.store(std::min(valid_bytes, slot.bytes), std::memory_order_relaxed);
  slot.order.store(order_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  slot.state.store(State::kCompleted, std::memory_order_release);
}

bool BufferPool::Take(Buffer* buffer) {
  for (size_t i = OldestCompleted(); i < slots_.size(); i = OldestCompleted()) {
    State completed = State::kCompleted;
    Slot& slot = slots_[i];
    if (!slot.state.compare_exchange_strong(completed, State::kTaken, std::memory_order_acquire)) {
      continue;
    }
    *buffer = {slot.data, slot.valid_bytes.load(std::memory_order_relaxed), i};
    return true;
  }
  return false;
}

void BufferPool::Recycle(const Buffer& buffer) {
  Slot& slot = slots_[buffer.slot];
  if (buffer.slot >= options_.resident_buffers) madvise(slot.data, slot.bytes, MADV_DONTNEED);
  slot.state.store(State::kFree, std::memory_order_release);
}

void BufferPool::Abandon() {
  for (Slot& slot : slots_) {
    State lent = State::kLent;
    slot.state.compare_exchange_strong(lent, State::kAbandoned, std::memory_order_relaxed);
  }
}

size_t BufferPool::OldestCompleted() const {
  size_t oldest = slots_.size();
  uint64_t order = std::numeric_limits<uint64_t>::max();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state.load(std::memory_order_acquire) != State::kCompleted) continue;
    const uint64_t its_order = slots_[i].order.load(std::memory_order_relaxed);
    if (its_order >= order) continue;
    order = its_order;
    oldest = i;
  }
  return oldest;
}

size_t BufferPool::SlotOf(const uint8_t* buffer) const {
  const auto address = reinterpret_cast<uintptr_t>(buffer);
  const auto first = reinterpret_cast<uintptr_t>(memory_);
  if (address < first || address >= first + memory_bytes_) return slots_.size();
  const size_t offset = address - first;
  const size_t large_bytes = options_.buffers * options_.buffer_bytes;
  const size_t slot = offset < large_bytes
                          ? offset / options_.buffer_bytes
                          : options_.buffers + (offset - large_bytes) / options_.spare_bytes;
  return slots_[slot].data == buffer ? slot : slots_.size();
}

size_t BufferPool::Count(State state) const {
  return static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.state.load(std::memory_order_relaxed) == state;
  }));
}

size_t BufferPool::Held() const { return Count(State::kLent); }
size_t BufferPool::Abandoned() const { return Count(State::kAbandoned); }

BufferPool::Counts BufferPool::counts() const {
  return {.completed = order_.load(std::memory_order_relaxed),
          .stolen = stolen_.load(std::memory_order_relaxed),
          .stolen_bytes = stolen_bytes_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .foreign = foreign_.load(std::memory_order_relaxed)};
}

}  // namespace eroica
