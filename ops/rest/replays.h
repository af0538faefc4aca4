// The replays that people ask a node for over REST: the past of a job through the stages once more,
// under another configuration perhaps. One runs at a time, a few wait, and what the newest ones
// found is kept. The resources see this interface; ops/cli/node_replays.h carries replays out.
//
// Thread-safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

// Records from from_ms on and before to_ms, in the log's times.
struct ReplayOrder {
  std::string job;                   // empty: all
  std::optional<int64_t> from_ms;    // nothing: from the oldest record
  std::optional<int64_t> to_ms;      // nothing: to what is there now
  std::vector<std::string> options;  // "summarize.fold_below=0.01", in place of the node's
};

enum class ReplayState : uint8_t {
  kQueued = 0,
  kRunning = 1,
  kFinished = 2,
  kFailed = 3,
  kCancelled = 4,
  kInterrupted = 5,  // the node stopped; the same order goes on where it was
};
inline constexpr int kReplayStateCount = 6;
std::string_view ToString(ReplayState state);
inline bool IsLive(ReplayState state) {
  return state == ReplayState::kQueued || state == ReplayState::kRunning;
}

struct ReplayStatus {
  std::string id;
  std::string folder;  // on the node: a recording, for `eroica findings --recording`
  ReplayOrder order;
  std::string by;  // the name of a token
  ReplayState state = ReplayState::kQueued;
  int64_t asked_ms = 0;  // wall clock, as the next two
  std::optional<int64_t> started_ms;
  std::optional<int64_t> ended_ms;
  int64_t done = 0;  // records of the slice that are read, of total
  int64_t total = 0;
  std::string error;  // of one that failed
  // Of one that is finished.
  int64_t records_missing = 0;  // that had left the log by its retention
  uint64_t findings_total = 0;
  // As `eroica replay` says it: "findings" where one is open, "nothing found", "cannot tell"; empty
  // where it is not known. Where none is open, why, and what the recording leaves open.
  std::string verdict;
  std::string nothing_because;
  std::vector<std::string> left_open;
  std::shared_ptr<const std::vector<Finding>> findings;  // nullptr: none; the first ones of many
};

class Replays {
 public:
  virtual ~Replays() = default;
  // The same order again is the same replay: one that waits, runs or is finished stays as it is,
  // another goes on. kFailedPrecondition: an option is unknown or refused, or the node's
  // configuration wants no replays; kResourceExhausted: too many wait.
  virtual absl::StatusOr<ReplayStatus> Ask(ReplayOrder order, const std::string& by) = 0;
  // Newest first.
  virtual std::vector<ReplayStatus> List() const = 0;
  virtual std::optional<ReplayStatus> Find(const std::string& id) const = 0;
  // One that runs stops at its next step. kNotFound; kFailedPrecondition: it has ended already.
  virtual absl::Status Cancel(const std::string& id) = 0;
};

}  // namespace eroica
