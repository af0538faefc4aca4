#include "producers/python/process_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace eroica {

void ProcessMemory::Forget() {
  used_ = next_ = 0;
  process_ = other_ == 0 ? getpid() : other_;
}

void ProcessMemory::Follow(int process) {
  other_ = process;
  Forget();
}

const ProcessMemory::Block* ProcessMemory::Find(uintptr_t begin) {
  for (size_t i = 0; i < used_; ++i) {
    if (blocks_[i].begin == begin) return &blocks_[i];
  }
  Block& block = blocks_[next_];
  const iovec to = {block.bytes.data(), kBlockBytes};
  const iovec from = {reinterpret_cast<void*>(begin), kBlockBytes};
  block.begin = 0;
  if (process_vm_readv(process_, &to, 1, &from, 1, 0) != static_cast<ssize_t>(kBlockBytes))
    return nullptr;
  block.begin = begin;
  used_ = std::max(used_, next_ + 1);
  next_ = (next_ + 1) % kBlocks;
  return &block;
}

bool ProcessMemory::Read(uintptr_t address, size_t bytes, void* out) {
  auto* to = static_cast<std::byte*>(out);
  if (process_ == 0) Forget();
  while (bytes > 0) {
    const uintptr_t begin = address & ~static_cast<uintptr_t>(kBlockBytes - 1);
    const Block* block = begin == 0 ? nullptr : Find(begin);
    if (block == nullptr) return false;
    const size_t offset = address - begin;
    const size_t now = std::min(bytes, kBlockBytes - offset);
    std::memcpy(to, block->bytes.data() + offset, now);
    to += now;
    address += now;
    bytes -= now;
  }
  return true;
}

}  // namespace eroica
