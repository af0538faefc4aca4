// RankStanding in memory: where a rank stands that gets no further, what summarize says of it to
// diagnose beside its patterns: its steps do not end, so its windows do not close. One a progress
// report. Wire: rank_standing.fbs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/function.h"
#include "schemas/ids.h"
#include "schemas/pause.h"
#include "schemas/process_end.h"
#include "schemas/window.h"

namespace eroica {

struct RankStanding {
  JobId job;
  RankId rank;
  uint32_t world_size = 1;
  std::string host;
  int32_t device = -1;
  uint32_t pid = 0;
  int64_t time_ns = 0;  // of the report; the rank's own clock, as all times here
  // when a collective was last launched or ended, or a mark last passed; time_ns where nothing is
  // known of it
  int64_t last_progress_ns = 0;
  bool timed_out = false;              // as ProgressReport::timed_out
  bool collectives_suspended = false;  // likewise
  bool starts_unknown = false;         // likewise
  bool moment_unknown = false;         // likewise
  Pause pause = Pause::kNone;          // it may rightly stand for long
  WindowKind window_kind = WindowKind::kTime;
  int64_t window_index = 0;  // that the rank is in
  int64_t step = -1;         // that the rank is in
  int64_t last_step = -1;    // the last that ended
  int64_t step_mean_ns = 0;  // of the steps that ended; 0 where none has
  // leaf name, as ProgressReport::function; empty where unknown
  std::string function;
  std::string stack;
  FunctionClass function_class = FunctionClass::kPython;
  // that the rank is a member of, by id; of large ones only some members list the ranks
  std::vector<Communicator> communicators;
  // by communicator (index into communicators), operation, peer, sequence
  std::vector<InFlightCollective> in_flight;
  // by communicator, operation, peer: the producer's own count, else what was seen
  std::vector<OperationCount> operations;
  // By time: what its connections did since the report before. Busy and without bytes: sends are
  // posted, and none completes.
  std::vector<ConnectionSample> connections;
  // The process has ended, at time_ns; the rest is where it stood when it was last looked at. Said
  // by its launcher's host, not by itself.
  std::optional<ProcessEnd> end;

  int64_t stalled_ns() const { return time_ns - last_progress_ns; }
  friend bool operator==(const RankStanding&, const RankStanding&) = default;
};

}  // namespace eroica
