// Times from outside, before anything is computed of them: a payload may say up to 146 years, and
// sums of a few such overflow. What is longer than 13 days is taken as that long, so that thousands
// of them add up. Pure.
#pragma once

#include <cstdint>

#include "schemas/collective_summary.h"
#include "schemas/pattern_batch.h"
#include "schemas/rank_standing.h"

namespace eroica {

inline constexpr int64_t kLongestTimeNs = int64_t{1} << 50;

// Durations; moments stay.
void BoundTimes(PatternBatch* batch);
void BoundTimes(CollectiveSummary* summary);
void BoundTimes(RankStanding* standing);

}  // namespace eroica
