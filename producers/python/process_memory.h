// Reads this process's own memory where it may not be there (any more): the kernel copies
// (process_vm_readv) and says so, where a load would end the process. Page by page, each copied
// once until Forget(), so that a walk over objects that lie together costs few system calls and
// sees each of their pages at one moment. Owner: one thread.
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
  // What is read from now on is read anew.
  void Forget();

 private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kPages = 32;
  struct Page {
    uintptr_t begin = 0;  // 0: none
    std::array<std::byte, kPageBytes> bytes;
  };

  const Page* Find(uintptr_t begin);

  std::array<Page, kPages> pages_;
  size_t used_ = 0;  // so many hold something
  size_t next_ = 0;  // is overwritten next
};

}  // namespace eroica
