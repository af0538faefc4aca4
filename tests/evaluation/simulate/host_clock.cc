#include "tests/evaluation/simulate/host_clock.h"

#include "tests/evaluation/simulate/noise.h"

namespace eroica::simulate {
namespace {

// keeps these draws apart from all others of the seed
constexpr uint64_t kClockDomain = 0x434C4F434B;

// [-1, 1)
double Draw(uint64_t seed, uint32_t host, uint64_t number) {
  return 2 * UniformOf(NoiseKey(seed, kClockDomain, host, number)) - 1;
}

}  // namespace

HostClock::HostClock(const Telemetry& telemetry, uint64_t seed, uint32_t host)
    : offset_ns_(kEpochNs + static_cast<int64_t>(Draw(seed, host, 0) *
                                                 static_cast<double>(telemetry.clock_offset_ns))),
      drift_(static_cast<int64_t>(Draw(seed, host, 1) * telemetry.clock_drift_ppm * 4294.967296)) {}

}  // namespace eroica::simulate
