#include "schemas/time_column.h"

#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr auto kTimeMax = static_cast<uint64_t>(CodecLimits::kMaxTimeNs);

}  // namespace

DropReason SumTimes(int64_t base_ns, uint32_t unit_ns, std::span<uint64_t> deltas) {
  if (unit_ns == 0 || base_ns < 0 || base_ns > CodecLimits::kMaxTimeNs)
    return DropReason::kTimeOutOfRange;
  // so that neither the product nor the sum below overflows
  const uint64_t delta_max = kTimeMax / unit_ns;
  auto now = static_cast<uint64_t>(base_ns);
  for (uint64_t& delta : deltas) {
    if (delta > delta_max) return DropReason::kTimeOutOfRange;
    now += delta * unit_ns;
    if (now > kTimeMax) return DropReason::kTimeOutOfRange;
    delta = now;
  }
  return DropReason::kNone;
}

DropReason ScaleDurations(uint32_t unit_ns, std::span<uint64_t> durations) {
  if (unit_ns == 0) return DropReason::kTimeOutOfRange;
  const uint64_t duration_max = kTimeMax / unit_ns;
  uint64_t signs = 0;  // the top bit is set once a duration is too long
  for (uint64_t& duration : durations) {
    signs |= duration | (duration_max - duration);
    duration *= unit_ns;
  }
  return (signs >> 63) != 0 ? DropReason::kTimeOutOfRange : DropReason::kNone;
}

}  // namespace eroica
