// A replay as `eroica replay` and a node run it: from a log's slice to the findings in a folder, in
// this thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/cli/log_source.h"
#include "ops/cli/replay_folder.h"
#include "ops/config/node_config.h"
#include "schemas/finding.h"
#include "stream_ops/runtime/stage_probe.h"

namespace eroica {

// What is asked for, with the log that it is asked of.
struct ReplayJob {
  NodeConfig config;
  LogSource source;
  ReplayRequest request;
  std::string id;
};

// Opens the log that the configuration names. what: the times and the job; the rest is filled in.
// id: empty: made of the request.
absl::StatusOr<ReplayJob> PrepareReplay(NodeConfig config, ReplayRequest what, std::string id);
// What the replay would read if it began now.
absl::StatusOr<LogSlice> TakeReplaySlice(const ReplayJob& job);
// The ends of the slice are those of the first run, however often the replay is taken up again.
absl::StatusOr<ReplayFolder> OpenReplayFolder(const ReplayJob& job, const std::string& path);

struct ReplayOutcome {
  std::vector<Finding> findings;  // each in its last state
  // Of this run, not of earlier ones that were stopped.
  uint64_t records = 0;
  uint64_t bytes = 0;
  double seconds = 0;
  int64_t span_ms = 0;  // of the records' times
  int64_t records_missing = 0;
  uint64_t corrupt_bytes = 0;
  int64_t records_unreadable = 0;
  StageProbe probe;  // of all stages
};

// progress: done and total, in offsets of the slice; false: stop, kCancelled. What fails because
// the source does not answer is tried again for a while.
absl::StatusOr<ReplayOutcome> RunReplay(
    const ReplayFolder& folder, const LogSource& source, const NodeConfig& config,
    const std::function<bool(int64_t done, int64_t total)>& progress);

// What the folder holds, each finding in its last state; of a replay that is not finished, some.
absl::StatusOr<std::vector<Finding>> ReadReplayFindings(const std::string& path,
                                                        const std::string& topic_prefix);

// Appends the folder's findings to the topic, made if it is not there: those that were not there
// yet when this was done last. Answers how many.
absl::StatusOr<uint64_t> PublishFindings(const ReplayFolder& folder, Log& target,
                                         const std::string& topic);

}  // namespace eroica
