// How far the stages before a stage are behind their input: by what their groups have committed,
// and by what those of this process say. While they are, that nothing comes is their delay, no
// silence of the ranks. Asks the log at most once a second. Owner: one StreamThread.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream_ops/log/log.h"
#include "stream_ops/runtime/stage_progress.h"

namespace eroica {

// A stage whose outputs are the input, perhaps by way of others.
struct Upstream {
  std::string group_id;
  std::string topic;  // that it reads
  // Of the stage where it runs in this process, too.
  std::shared_ptr<const StageProgress> progress = nullptr;
};

class UpstreamProgress {
 public:
  // log must outlive it.
  UpstreamProgress(Log& log, std::vector<Upstream> upstreams)
      : log_(log), upstreams_(std::move(upstreams)) {}

  // Whether they have processed all that there is. Where their groups have not moved for ten
  // minutes nobody runs them, and what the log does not know is up to the stages of this process.
  absl::StatusOr<bool> CaughtUp(std::chrono::steady_clock::time_point now);

 private:
  absl::StatusOr<uint64_t> RecordsBehind(const Upstream& upstream);

  Log& log_;
  const std::vector<Upstream> upstreams_;
  std::optional<uint64_t> behind_;  // records of all of them
  std::chrono::steady_clock::time_point asked_at_;
  std::chrono::steady_clock::time_point moved_at_;
};

}  // namespace eroica
