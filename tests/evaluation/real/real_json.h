// Runs of real jobs as JSON: for programs, and to look up what was said in which.
#pragma once

#include <span>
#include <string>

#include "tests/evaluation/real/real_run.h"

namespace eroica {

std::string RealJson(std::span<const RealRun> runs);

}  // namespace eroica
