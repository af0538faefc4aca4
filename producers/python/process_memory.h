// Reads the memory of a process, mostly this one's own, where it may not be there (any more): the
// kernel copies (process_vm_readv) and says so, where a load would end the process. Block by block,
// each copied once until Forget(), so that a walk over objects that lie together costs few system
// calls and sees each block at one moment. A block is a quarter of a page: what is read is often
// cold in the reader's cache, and most of a page is of no interest. Owner: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace eroica {

class ProcessMemory {
 public:
  // False where not all of it is mapped.
  bool Read(uintptr_t address, size_t bytes, void* out);
  template <typename Value>
  bool Read(uintptr_t address, Value* out) {
    static_assert(std::is_trivially_copyable_v<Value>);
    return Read(address, sizeof *out, out);
  }
  // From here on another process's, which this one may read; 0: its own again.
  void Follow(int process);
  // From here on nothing that was copied counts. In the process that calls it.
  void Forget();

 private:
  static constexpr size_t kBlockBytes = 1024;  // a block lies within one page
  static constexpr size_t kBlocks = 64;
  struct Block {
    uintptr_t begin = 0;  // 0: none
    std::array<std::byte, kBlockBytes> bytes;
  };

  const Block* Find(uintptr_t begin);

  std::array<Block, kBlocks> blocks_;
  int other_ = 0;    // the process that is followed
  int process_ = 0;  // that is read
  size_t used_ = 0;  // so many hold something
  size_t next_ = 0;  // is overwritten next
};

}  // namespace eroica
