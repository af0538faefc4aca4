// The score as charts: how right each method is against how much a fault costs, and what its
// confidence is worth.
#pragma once

#include <span>
#include <vector>

#include "tests/evaluation/score/chart_svg.h"
#include "tests/evaluation/score/score.h"

namespace eroica {

// Share of faults with the right culprit (rank and function) over the effect on the step time, in
// bins of half a decade; hangs stand at the end.
Chart AccuracyChart(std::span<const ScoredRun> runs);
// Share of right findings over the confidence with which they were said.
Chart ReliabilityChart(std::span<const MethodScore> scores);

}  // namespace eroica
