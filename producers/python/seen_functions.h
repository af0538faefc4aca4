// The functions that the newest samples have seen, in stretches of one kind: what a stretch without
// a sample was spent in, in equal parts. One sample alone would decide over all stretches until the
// next one; and what a thread does in a long stretch (a report, a checkpoint) it does not do in the
// short ones behind it, so that stretches count that lasted about as long. Owner: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace eroica {

class SeenFunctions {
 public:
  static constexpr size_t kNewest = 8;  // of one length

  // length_ns: of the stretch, > 0.
  void Add(int64_t length_ns, uint32_t function);
  // One entry a sample, equal ones side by side, of the seen length that is nearest.
  std::vector<uint32_t> In(int64_t length_ns) const;
  uint32_t newest() const { return newest_; }  // of any length; 0 before the first

 private:
  static constexpr size_t kLengths = 16;  // powers of four

  struct Newest {
    std::array<uint32_t, kNewest> functions{};
    size_t next = 0;
    size_t count = 0;
  };
  static size_t PlaceOf(int64_t length_ns);

  std::array<Newest, kLengths> by_length_{};
  uint32_t newest_ = 0;
};

}  // namespace eroica
