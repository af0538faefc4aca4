// What a baseline says, as a finding: who, what it ran, one sentence. Baselines know no impact,
// chain or severity, and so leave them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/operator.h"

namespace eroica {

struct Claim {
  FindingKind kind = FindingKind::kSlowRank;
  std::string subkind;
  std::vector<RankId> ranks;                  // none: nobody, or all
  int32_t peer = -1;                          // the other end where the culprit is a link
  const FunctionPattern* function = nullptr;  // none where the method names none
  std::vector<Measure> evidence;
  std::string title;
};

// Complete but for the data quality: identity, window and operator are set, so that it can be
// scored as it is. Every claim is as sure as the next: the methods grade none.
Finding ToFinding(const CrossRankView& view, const DiagnosisOperator& baseline, Claim claim);

// "rank 3", "ranks 3, 5, 7 and 40 more"
std::string RankList(const std::vector<RankId>& ranks);

// Mean duration of one call, 0 where it was never called.
double MeanDuration(const FunctionPattern& pattern);

}  // namespace eroica
