// The score for machines: totals of each method, and every judged run.
#pragma once

#include <span>
#include <string>

#include "tests/evaluation/score/score.h"

namespace eroica {

// One JSON object, keys in a fixed order; no times of day, so that equal input gives equal text.
std::string ScoreJson(std::span<const MethodScore> scores, std::span<const ScoredRun> runs);

}  // namespace eroica
