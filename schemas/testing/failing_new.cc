#include "schemas/testing/failing_new.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace eroica {
namespace {

enum class Armed : uint8_t { kNowhere, kMarkedThread, kUnmarkedThreads };

std::atomic<Armed> armed{Armed::kNowhere};
std::atomic<int64_t> left_to_spare{0};
std::atomic<int64_t> left_to_fail{0};
std::atomic<int64_t> has_failed{0};
thread_local bool is_marked = false;

bool Fails() {
  const Armed now = armed.load(std::memory_order_acquire);
  if (now == Armed::kNowhere || (now == Armed::kMarkedThread) != is_marked) return false;
  if (left_to_spare.fetch_sub(1) > 0) return false;
  if (left_to_fail.fetch_sub(1) <= 0) return false;
  has_failed.fetch_add(1);
  return true;
}

void* Allocate(size_t bytes) noexcept {
  return Fails() ? nullptr : std::malloc(bytes + (bytes == 0));
}

void* AllocateAligned(size_t bytes, std::align_val_t alignment) noexcept {
  void* memory = nullptr;
  if (Fails() || ::posix_memalign(&memory, static_cast<size_t>(alignment), bytes) != 0)
    return nullptr;
  return memory;
}

void* OrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingNew::FailingNew(Where where, int64_t spared, int64_t failures) {
  is_marked = true;
  left_to_spare = spared;
  left_to_fail = failures;
  has_failed = 0;
  armed.store(where == Where::kThisThread ? Armed::kMarkedThread : Armed::kUnmarkedThreads,
              std::memory_order_release);
}

FailingNew::~FailingNew() {
  armed.store(Armed::kNowhere, std::memory_order_release);
  is_marked = false;
}

int64_t FailingNew::failed() const { return has_failed; }

}  // namespace eroica

// All forms, so that what one takes the other of its pair gives back.
void* operator new(size_t bytes) { return eroica::OrThrow(eroica::Allocate(bytes)); }
void* operator new[](size_t bytes) { return eroica::OrThrow(eroica::Allocate(bytes)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return eroica::Allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return eroica::Allocate(bytes);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return eroica::OrThrow(eroica::AllocateAligned(bytes, alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return eroica::OrThrow(eroica::AllocateAligned(bytes, alignment));
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return eroica::AllocateAligned(bytes, alignment);
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return eroica::AllocateAligned(bytes, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
