// Real jobs from recordings of our own producers (tests/golden/live, made by
// tests/live/record_golden.sh). truth.json beside them says what was wrong in each.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "tests/evaluation/real/real_job.h"

namespace eroica {

// One a member of folder/truth.json, in its order: null for a healthy job, else
//   rank       who is at fault; peer: the other end where it is a link
//   function   parts of names, divided by |, one of which must stand in the function or its stack
//   stack      a part of a name that must stand there instead, where function alone says little
//   from_step  in which the fault begins
// Windows: as they were recorded, of 8 and 16 steps, and the whole job. kNotFound without the file,
// kInvalidArgument for what it says.
absl::StatusOr<std::vector<RealJobSource>> RecordingSources(const std::string& folder);

// All batches of a recording, those of each rank in order, one of each rank after the other.
// kDataLoss where some cannot be read.
absl::StatusOr<std::vector<EventBatch>> ReadRecordedBatches(const std::string& folder);

}  // namespace eroica
