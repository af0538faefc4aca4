// Control: what a job's producers shall capture. Wire: control.fbs.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/ids.h"

namespace eroica {

// kOff: only in a Control; the producers of the job stop for good, whatever the steps say.
enum class CaptureLevel : uint8_t { kCollectives = 0, kPatterns = 1, kEvents = 2, kOff = 3 };
inline constexpr int kCaptureLevelCount = 3;  // that a producer may run at
inline constexpr int kControlLevelCount = 4;  // that may be asked for

struct Control {
  JobId job;
  CaptureLevel capture_level = CaptureLevel::kCollectives;
  int64_t first_step = 0;
  int64_t last_step = 0;  // inclusive
  std::string requester;
  int64_t expires_at_ns = 0;
  friend bool operator==(const Control&, const Control&) = default;
};

}  // namespace eroica
