// Which jobs the nodes know, and how far each is diagnosed: what an empty list of findings means.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/cli/capture_gaps.h"
#include "ops/cli/exit_code.h"
#include "state_store/state_store.h"
#include "stream_ops/diagnose/failure_row.h"
#include "stream_ops/log/log.h"
#include "stream_ops/rank_contest.h"

namespace eroica {

struct KnownJob {
  int64_t last_window = -1;  // that was diagnosed; -1: none yet
  bool of_steps = true;      // its windows are of steps, else of time
  int64_t end_ns = 0;        // of the window, by the clock of a rank
  int64_t watermark_ms = 0;  // latest event time of its records
  uint32_t world_size = 0;
  uint32_t ranks_seen = 0;
  double step_ns = 0;  // median over the ranks; 0: no steps
  bool ended = false;
  std::vector<ContestedRank> contested{};
  std::optional<UnexplainedFailure> failure{};
  // Of what was recorded of the job; nothing where the log is no recording, and was not read.
  std::optional<CaptureGaps> gaps{};
  bool diagnosed() const { return last_window >= 0; }
};

struct KnownJobs {
  bool node_has_run = false;
  bool is_whole = true;           // false: there was no time to read of all of them
  std::vector<std::string> lost;  // of what the node has read, in sentences: lost_entries.h
  CaptureGaps gaps{};             // of a recording that holds nothing of any job
  std::map<std::string, KnownJob> jobs;
};

// As the store of a node has them.
absl::StatusOr<KnownJobs> JobsOfStore(const StateStore& store);
// As the changelog of the stage diagnose has them, which all nodes of a Kafka share. Reads for so
// long at most.
absl::StatusOr<KnownJobs> JobsOfChangelog(Log& log, const std::string& topic_prefix,
                                          std::chrono::milliseconds time);

// What to say where no finding is open, and the exit code that goes with it.
struct NoFindings {
  std::string text;  // whole sentences
  // What the recording leaves open, in whole sentences.
  std::vector<std::string> reasons;
  bool is_healthy = false;  // a node has read all that the job sent, and found nothing
  std::string_view verdict() const { return is_healthy ? "nothing found" : "cannot tell"; }
  int exit_code() const { return is_healthy ? kExitNothingFound : kExitCannotTell; }
};

struct NoFindingsQuestion {
  std::string job;           // that was asked for; empty: any
  size_t resolved = 0;       // findings of it that are resolved
  std::string source;        // "recording/" or "localhost:9092"
  std::string node_command;  // how to run a node over it
};
NoFindings ExplainNoFindings(const KnownJobs& known, const NoFindingsQuestion& question);

}  // namespace eroica
