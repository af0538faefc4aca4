// A real trace with a known truth, judged as a simulated job is. Its scenario file names the
// folders and files of the trace instead of a workload.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/score/method.h"
#include "tests/evaluation/score/scenario.h"
#include "tests/evaluation/score/scored_run.h"

namespace eroica {

// scenario.traces are below root. One run a method, as given.
absl::StatusOr<std::vector<ScoredRun>> RunTrace(const Scenario& scenario, const std::string& root,
                                                std::span<const Method> methods);

}  // namespace eroica
