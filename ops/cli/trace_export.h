// A window of a job out of a log, as a Chrome trace: its events are read twice, first for when the
// window was on each rank, then for what lies in it. One thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/cli/rank_set.h"
#include "ops/cli/window_survey.h"
#include "schemas/finding.h"
#include "stream_ops/log/log_slice.h"
#include "stream_ops/log/slice_reader.h"

namespace eroica {

struct ExportRequest {
  LogSlice events;                     // of the events topic
  std::string job;                     // empty: the only one that there is
  RankSet ranks;                       // of the job
  std::optional<WantedWindow> window;  // nothing: all that there is
  int64_t time_window_ns = 0;          // how long windows of time are
  std::optional<Finding> finding;      // to be marked, on the ranks that it names
  uint64_t intervals_max = 0;
  std::string file;
  // False: stop. done of total offsets, both readings together.
  std::function<bool(int64_t done, int64_t total)> progress;
};

struct ExportOutcome {
  std::string job;
  std::vector<uint32_t> ranks;  // in the trace, ascending
  uint64_t intervals = 0;
  uint64_t left_out = 0;   // intervals, for want of room
  uint64_t malformed = 0;  // records that are no events
  uint64_t bytes = 0;      // before compression
};

// kNotFound: nothing of the job, or of the window on any of the ranks; kFailedPrecondition: several
// jobs, and none is named; kAlreadyExists: the file is there; kCancelled: progress said stop.
absl::StatusOr<ExportOutcome> ExportTrace(const ExportRequest& request, const OpenReaders& readers);

}  // namespace eroica
