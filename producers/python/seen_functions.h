// The functions that the newest samples have seen, in stretches of one kind: what a stretch without
// a sample was spent in, in equal parts. One sample alone would decide over all stretches until the
// next one. Owner: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace eroica {

class SeenFunctions {
 public:
  static constexpr size_t kNewest = 8;

  void Add(uint32_t function) {
    functions_[next_] = newest_ = function;
    next_ = (next_ + 1) % kNewest;
    if (count_ < kNewest) ++count_;
  }
  bool empty() const { return count_ == 0; }
  uint32_t newest() const { return newest_; }
  // One entry a sample, equal ones side by side.
  std::vector<uint32_t> All() const;

 private:
  std::array<uint32_t, kNewest> functions_{};
  size_t next_ = 0;
  size_t count_ = 0;
  uint32_t newest_ = 0;
};

}  // namespace eroica
