// What was not recorded of the jobs of a replay. The patterns that show it leave the replay's
// folder again; so it is kept there (gaps.json) when the replay has finished.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/cli/capture_gaps.h"
#include "ops/cli/known_jobs.h"
#include "schemas/finding.h"

namespace eroica {

struct ReplayGaps {
  // false: the replay was stopped and taken up again; what its first part covers is not known.
  bool is_whole = true;
  std::map<std::string, CaptureGaps> jobs;  // by name
};

// findings: of the replay; a job without any is asked for more.
ReplayGaps FindReplayGaps(const std::map<std::string, JobCoverage>& coverages,
                          const std::vector<Finding>& findings);
absl::Status WriteReplayGaps(const std::string& folder, const ReplayGaps& gaps);
// Nothing where the replay has not finished, or was made by a version that kept none.
absl::StatusOr<std::optional<ReplayGaps>> ReadReplayGaps(const std::string& folder);
void AddReplayGaps(const ReplayGaps& gaps, KnownJobs* known);

}  // namespace eroica
