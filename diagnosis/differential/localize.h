// EROICA's localization: the functions that behave on some rank unlike on its peers, or on all
// ranks unlike what is usual. Pure; the same view gives the same result on every machine. Claim,
// evidence and silence: README.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/cross_rank_view.h"
#include "diagnosis/differential/differential_options.h"
#include "diagnosis/differential/differential_score.h"

namespace eroica {

DifferentialResult Localize(const CrossRankView& view, const DifferentialOptions& options = {});

// The same without a view. role: per RankIndex, kNoRole for ranks that are no peers. `seed` draws
// the shared samples, with function and role.
struct DifferentialInput {
  static constexpr uint32_t kNoRole = 0xffffffff;
  std::span<const FunctionColumn> functions;
  std::span<const uint32_t> role;
  uint32_t role_count = 1;
  bool host_only = false;
  uint64_t seed = 0;
};
DifferentialResult Localize(const DifferentialInput& input,
                            const DifferentialOptions& options = {});

}  // namespace eroica
