// Ranks of a live job with fewer recorded steps than the others, and with none.
#pragma once

#include "ops/cli/capture_gaps.h"
#include "ops/cli/job_coverage.h"

namespace eroica {

// A rank that another process was taken for, that was captured late, or no longer. While a job runs
// one may be a window behind. Where the others have steps and a rank has none, it may have another
// part than they. action: what to do of the former, in full sentences.
void AddPartlyRecorded(const JobCoverage& coverage, const char* action, CaptureGaps* gaps);

}  // namespace eroica
