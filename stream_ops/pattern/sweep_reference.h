// The critical path as its definition says it, moment by moment: slow, plain, and what the sweep is
// tested against.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "stream_ops/pattern/critical_path_sweep.h"

namespace eroica {

struct ReferenceResult {
  std::map<uint32_t, int64_t> critical_ns;  // by function
  std::map<uint32_t, int64_t> total_ns;
  std::map<uint32_t, uint32_t> count;
  std::map<uint32_t, uint32_t> active_steps;
  std::vector<int64_t> peer_wait_ns;  // by step
  std::vector<CollectiveExposure> collectives;
};

ReferenceResult SweepByMoments(const SweepInput& input);

}  // namespace eroica
