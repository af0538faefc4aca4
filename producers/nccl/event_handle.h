// What the plugin gives NCCL for a communicator or an event: never a pointer, but an index with the
// generation of the slot that it meant and a salt of the process. NCCL keeps handles in
// thread-local state after it stopped to deliver events, and passes them between processes (PXN):
// one that means nothing any more is recognised, and never touched.
#pragma once

#include <cstdint>

namespace eroica::nccl {

enum class HandleKind : uint8_t {
  kNone = 0,
  kCommunicator = 1,
  kOperation = 2,
  kKernelChannel = 3,
  kProxyOperation = 4,
  kProxyStep = 5,
};

// Bits from above: kind 4, salt 12, index 16, generation 32. A generation is at least 1, so that no
// handle is 0: that stands for "nothing", as in NCCL.
struct EventHandle {
  HandleKind kind = HandleKind::kNone;
  uint16_t salt = 0;
  uint16_t index = 0;
  uint32_t generation = 0;

  constexpr uint64_t Encode() const {
    return static_cast<uint64_t>(kind) << 60 | static_cast<uint64_t>(salt & kSaltMask) << 48 |
           static_cast<uint64_t>(index) << 32 | generation;
  }
  static constexpr EventHandle Decode(uint64_t bits) {
    return {static_cast<HandleKind>(bits >> 60), static_cast<uint16_t>(bits >> 48 & kSaltMask),
            static_cast<uint16_t>(bits >> 32), static_cast<uint32_t>(bits)};
  }
  static constexpr uint16_t kSaltMask = 0xFFF;
};

inline constexpr uint64_t kNoHandle = 0;
inline constexpr uint32_t kMostSlots = 1 << 16;  // what an index can say

}  // namespace eroica::nccl
