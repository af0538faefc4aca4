// The real traces as batches. They lie beside the repository and are never part of it: where they
// are absent, tests skip.
#pragma once

#include <absl/status/statusor.h>

#include <ostream>
#include <string>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica::testing {

inline constexpr char kTraceRoot[] = "../shared/traces";

struct TraceJob {
  std::string name;                // fit for the name of a test and of a file
  std::vector<std::string> paths;  // below the root: folders, or files of one job
};

inline void PrintTo(const TraceJob& job, std::ostream* out) { *out << job.name; }

// Every job of which there is a trace.
std::vector<TraceJob> TraceJobs();
bool HaveTraces();
absl::StatusOr<std::vector<EventBatch>> ImportJob(const TraceJob& job);

}  // namespace eroica::testing
