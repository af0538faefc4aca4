#include "producers/nccl/activation_mask.h"

#include <dlfcn.h>
#include <link.h>

namespace eroica::nccl {
namespace {

std::atomic_ref<int> MaskAt(int* address) { return std::atomic_ref<int>(*address); }

// Of a count of changes that goes up when one begins and when it ends.
bool IsChanging(uint32_t changes) { return changes % 2 != 0; }

// The library that holds the address stays loaded from here on; false: it lies in none.
bool PinLibraryOf(const void* address) {
  Dl_info library{};
  link_map* map = nullptr;
  if (::dladdr1(address, &library, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
    return false;
  if (map != nullptr && map->l_name[0] == '\0') return true;  // the program itself
  void* const kept = ::dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (kept != nullptr) ::dlclose(kept);
  return kept != nullptr;
}

}  // namespace

bool ActivationMask::Write(int wanted, bool whatever_is_there) {
  uint32_t changes = changes_.load(std::memory_order_relaxed);
  if (IsChanging(changes) ||
      !changes_.compare_exchange_strong(changes, changes + 1, std::memory_order_acquire,
                                        std::memory_order_relaxed))
    return false;
  const std::atomic_ref<int> active = MaskAt(address_.load(std::memory_order_relaxed));
  int known = written_.load(std::memory_order_relaxed);
  if (whatever_is_there) {
    active.store(wanted, std::memory_order_release);
    written_.store(wanted, std::memory_order_release);
  } else if (active.compare_exchange_strong(known, wanted, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    written_.store(wanted, std::memory_order_release);
  }
  changes_.store(changes + 2, std::memory_order_release);
  return true;
}

int ActivationMask::Now() const {
  return MaskAt(address_.load(std::memory_order_relaxed)).load(std::memory_order_relaxed);
}

int ActivationMask::Follow(int wanted) {
  const std::atomic_ref<int> active = MaskAt(address_.load(std::memory_order_relaxed));
  if (active.load(std::memory_order_relaxed) != wanted) Write(wanted, false);
  return active.load(std::memory_order_relaxed);
}

std::optional<int> ActivationMask::FromOutside() const {
  const std::atomic_ref<int> active = MaskAt(address_.load(std::memory_order_relaxed));
  const uint32_t changes = changes_.load(std::memory_order_acquire);
  const int written = written_.load(std::memory_order_acquire);
  const int now = active.load(std::memory_order_acquire);
  // While the plugin changes it, the two differ as well.
  const bool is_changed =
      IsChanging(changes) || changes_.load(std::memory_order_acquire) != changes;
  return now == written || is_changed ? std::nullopt : std::optional<int>(now);
}

ActivationMask* ActivationMasks::Join(int* address, int wanted) {
  if (address == nullptr) return nullptr;
  const MutexLock lock(mutex_);
  ActivationMask* joined = nullptr;
  for (ActivationMask& mask : masks_) {
    int* const known = mask.address_.load(std::memory_order_relaxed);
    if (known == address || (known == nullptr && joined == nullptr)) joined = &mask;
    if (known == address) break;
  }
  if (joined == nullptr) {
    MaskAt(address).store(wanted, std::memory_order_relaxed);
    return nullptr;
  }
  if (joined->address_.load(std::memory_order_relaxed) == nullptr) {
    joined->pinned_.store(PinLibraryOf(address), std::memory_order_relaxed);
    joined->address_.store(address, std::memory_order_release);
  }
  if (joined->communicators_.fetch_add(1, std::memory_order_acq_rel) > 0) {
    joined->Follow(wanted);
  } else {
    while (!joined->Write(wanted, true)) {
    }
  }
  return joined;
}

void ActivationMasks::Leave(ActivationMask* mask) {
  if (mask != nullptr) mask->communicators_.fetch_sub(1, std::memory_order_acq_rel);
}

std::optional<int> ActivationMasks::FromOutside() const {
  std::optional<int> all;
  for (const ActivationMask& mask : masks_) {
    if (mask.communicators_.load(std::memory_order_acquire) <= 0) continue;
    if (!mask.pinned_.load(std::memory_order_relaxed)) continue;
    if (const std::optional<int> set = mask.FromOutside()) all = all.value_or(-1) & *set;
  }
  return all;
}

}  // namespace eroica::nccl
