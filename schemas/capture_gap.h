// What a producer does not capture for a while although Eroica asks for it, and why. In batches:
// the id of MarkKind::kCaptureSuspended and kCaptureResumed. In windows: PatternBatch::gaps.
#pragma once

#include <cstdint>
#include <optional>

namespace eroica {

enum class CaptureKind : uint8_t {
  kDeviceWork = 0,   // kernels and copies: another client has CUPTI
  kCollectives = 1,  // of NCCL: its activation mask was set from outside
  kProcesses = 2,    // of this host that say they are this rank, too, and were refused
};
inline constexpr int kCaptureKindCount = 3;

struct CaptureGap {
  CaptureKind capture = CaptureKind::kDeviceWork;
  uint32_t detail = 0;  // of kCollectives: the mask; of kProcesses: how many; else 0

  constexpr int64_t mark_id() const {
    return static_cast<int64_t>(capture) | static_cast<int64_t>(detail) << 8;
  }
  // Nothing where a newer producer names a capture that this program does not know.
  static constexpr std::optional<CaptureGap> OfMark(int64_t id) {
    if (id < 0 || (id & 0xFF) >= kCaptureKindCount || id >> 40 != 0) return std::nullopt;
    return CaptureGap{static_cast<CaptureKind>(id & 0xFF), static_cast<uint32_t>(id >> 8)};
  }
  friend bool operator==(const CaptureGap&, const CaptureGap&) = default;
};

}  // namespace eroica
