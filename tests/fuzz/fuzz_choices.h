// The input of a fuzz target as a source of choices that never ends: its bytes first, then a
// generator that they seed. So a short input makes a whole folder, and a changed byte another one.
// One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <span>

namespace eroica {

class FuzzChoices {
 public:
  explicit FuzzChoices(std::span<const uint8_t> bytes) : bytes_(bytes), random_(Seed(bytes)) {}

  uint64_t Word() {
    if (bytes_.size() < sizeof(uint64_t)) {
      bytes_ = {};
      return random_();
    }
    uint64_t word = 0;
    for (size_t i = 0; i < sizeof(word); ++i) word = word << 8 | bytes_[i];
    bytes_ = bytes_.subspan(sizeof(word));
    // Bytes of a corpus are alike in their low bits.
    return word * 0x9e3779b97f4a7c15;
  }
  size_t Below(size_t bound) { return bound == 0 ? 0 : (Word() >> 11) % bound; }
  bool OneIn(size_t many) { return Below(many) == 0; }
  template <typename T, size_t kSize>
  const T& Of(const T (&values)[kSize]) {
    return values[Below(kSize)];
  }
  // A number at which code breaks.
  int64_t Extreme() {
    static constexpr int64_t kNumbers[] = {0,
                                           -1,
                                           1,
                                           -5,
                                           255,
                                           65'535,
                                           65'536,
                                           (1 << 20) - 1,
                                           1 << 20,
                                           (1 << 20) + 1,
                                           std::numeric_limits<int32_t>::max(),
                                           std::numeric_limits<int32_t>::min(),
                                           int64_t{1} << 32,
                                           (int64_t{1} << 32) + 1,
                                           int64_t{1} << 53,
                                           (int64_t{1} << 62) - 1,
                                           int64_t{1} << 62,
                                           (int64_t{1} << 62) + 1,
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min()};
    return OneIn(8) ? static_cast<int64_t>(Word()) : Of(kNumbers);
  }

 private:
  static uint64_t Seed(std::span<const uint8_t> bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
    return hash;
  }

  std::span<const uint8_t> bytes_;
  std::mt19937_64 random_;
};

}  // namespace eroica
