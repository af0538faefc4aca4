// What a host's clock shows: true time, off by an offset and drifting. Integers only, so that it
// never goes backwards and is the same on every machine.
#pragma once

#include <cstdint>

#include "tests/evaluation/simulate/simulated_job.h"

namespace eroica::simulate {

class HostClock {
 public:
  // The first moment of every job: 2026-01-01T00:00:00Z.
  static constexpr int64_t kEpochNs = int64_t{1'767'225'600} * 1'000'000'000;

  // Exact.
  HostClock() = default;
  // Off by up to the telemetry's offset and drift, in either direction; drawn for the host.
  HostClock(const Telemetry& telemetry, uint64_t seed, uint32_t host);

  // true_ns: since the beginning of the job. A product of 64 bits would not hold six hours of 100
  // ppm.
  int64_t Show(int64_t true_ns) const {
    return true_ns + static_cast<int64_t>((Wide{true_ns} * drift_) >> 32) + offset_ns_;
  }

 private:
  __extension__ typedef __int128 Wide;

  int64_t offset_ns_ = kEpochNs;
  int64_t drift_ = 0;  // in units of 2^-32
};

}  // namespace eroica::simulate
