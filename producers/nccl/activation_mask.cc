#include "producers/nccl/activation_mask.h"

#include <dlfcn.h>
#include <link.h>

namespace eroica::nccl {
namespace {

std::atomic_ref<int> MaskAt(int* address) { return std::atomic_ref<int>(*address); }

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
  if (changing_.exchange(true, std::memory_order_acquire)) return false;
  const std::atomic_ref<int> active = MaskAt(address_.load(std::memory_order_relaxed));
  int known = written_.load(std::memory_order_relaxed);
  if (whatever_is_there) {
    active.store(wanted, std::memory_order_release);
    written_.store(wanted, std::memory_order_relaxed);
  } else if (active.compare_exchange_strong(known, wanted, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    written_.store(wanted, std::memory_order_relaxed);
  }
  changing_.store(false, std::memory_order_release);
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
  const int written = written_.load(std::memory_order_acquire);
  const int now = active.load(std::memory_order_acquire);
  if (now == written) return std::nullopt;
  // While the plugin changes it, the two differ as well.
  const bool changes = changing_.load(std::memory_order_acquire) ||
                       written_.load(std::memory_order_acquire) != written;
  return changes ? std::nullopt : std::optional<int>(now);
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
