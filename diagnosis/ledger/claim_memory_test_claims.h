// Claims for tests of ClaimMemory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"

namespace eroica {

inline constexpr uint32_t kRanks = 16;
inline constexpr int64_t kWindowNs = 12'000'000'000;

// Of a window of four steps, in so many of which the rank was slow.
inline Finding Claim(int64_t window, int32_t rank, double slow_steps, std::string function = "gemm",
                     FunctionClass function_class = FunctionClass::kGpuCompute) {
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = "function";
  finding.culprits = {{.rank = rank}};
  finding.function = std::move(function);
  finding.function_class = function_class;
  finding.first_window = finding.last_window = window;
  finding.first_seen_ns = kWindowNs * window + 7;
  finding.last_seen_ns = kWindowNs * (window + 1);
  finding.first_step = 4 * window;
  finding.last_step = 4 * window + 3;
  finding.world_size = finding.ranks_seen = kRanks;
  finding.lost_ns_per_step = 1e6;
  finding.lost_gpu_seconds_per_hour = 0.1 * 3600 * kRanks;
  finding.evidence = {{.name = "slow_steps", .unit = "count", .culprit = slow_steps, .samples = 4},
                      {.name = "lasted", .unit = "ns", .culprit = 4e8, .samples = 1}};
  return finding;
}

inline std::vector<Finding> Ripen(ClaimMemory& memory, int64_t window, std::vector<Finding> claims,
                                  bool job_ends = false) {
  const std::vector<bool> is_open(claims.size(), false);
  return memory.Ripen(window, std::move(claims), is_open, job_ends);
}

}  // namespace eroica
