// Findings as a node's state store keeps them: each in its last state.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/finding.h"
#include "state_store/state_store.h"

namespace eroica {

struct StoredFindings {
  std::vector<Finding> findings;  // by job, then as they were first said
  uint64_t malformed = 0;         // rows that are no finding: skipped
};

// Of all jobs, or of one.
absl::StatusOr<StoredFindings> ReadStoredFindings(const StateStore& store, const std::string& job);

}  // namespace eroica
