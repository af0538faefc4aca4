#include "producers/python/process_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace eroica {

void ProcessMemory::Forget() { used_ = next_ = 0; }

const ProcessMemory::Page* ProcessMemory::Find(uintptr_t begin) {
  for (size_t i = 0; i < used_; ++i) {
    if (pages_[i].begin == begin) return &pages_[i];
  }
  Page& page = pages_[next_];
  const iovec to = {page.bytes.data(), kPageBytes};
  const iovec from = {reinterpret_cast<void*>(begin), kPageBytes};
  page.begin = 0;
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(kPageBytes))
    return nullptr;
  page.begin = begin;
  used_ = std::max(used_, next_ + 1);
  next_ = (next_ + 1) % kPages;
  return &page;
}

bool ProcessMemory::Read(uintptr_t address, size_t bytes, void* out) {
  auto* to = static_cast<std::byte*>(out);
  while (bytes > 0) {
    const uintptr_t begin = address & ~static_cast<uintptr_t>(kPageBytes - 1);
    const Page* page = begin == 0 ? nullptr : Find(begin);
    if (page == nullptr) return false;
    const size_t offset = address - begin;
    const size_t now = std::min(bytes, kPageBytes - offset);
    std::memcpy(to, page->bytes.data() + offset, now);
    to += now;
    address += now;
    bytes -= now;
  }
  return true;
}

}  // namespace eroica
