// Real jobs from traces, as `eroica diagnose` reads them. Their truths are the scenarios of
// tests/scenarios/traces.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/real/real_job.h"

namespace eroica {

// Of the scenarios that are of traces, which lie below root. Loading reads the files twice: as they
// are, and as the profiler would have written them without stacks. Windows: of 1, 2 and 4 steps as
// far as a job has more than so many, and the whole job.
std::vector<RealJobSource> TraceSources(std::span<const Scenario> scenarios,
                                        const std::string& root);

}  // namespace eroica
