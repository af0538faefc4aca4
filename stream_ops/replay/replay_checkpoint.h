// Where a replay stands, as its store keeps it, written together with the state of all stages: how
// far its input is read, and where the topics of its folder ended then. Whatever was appended to
// them later is cut off before the replay goes on, and comes anew.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>

#include "state_store/state_store.h"
#include "stream_ops/log/log.h"

namespace eroica {

struct ReplayCheckpoint {
  std::map<TopicPartition, int64_t> read;  // of the source: the offset of the next record
  std::map<TopicPartition, int64_t> ends;  // of the topics in the folder
  // Of the stages' input partitions in the folder: for how many ms nothing came, -1 - that where
  // the task was punctuated for it.
  std::map<TopicPartition, int64_t> quiet_ms;
  int64_t clock_ms = 0;
  int64_t fed_ms = 0;  // the time of the newest record that was fed
  bool finished = false;
  friend bool operator==(const ReplayCheckpoint&, const ReplayCheckpoint&) = default;
};

// Becomes part of what is written to the store next.
absl::Status StageCheckpoint(const ReplayCheckpoint& checkpoint, StateStore& store);
// Nothing: the replay has none yet. kDataLoss: it cannot be read.
absl::StatusOr<std::optional<ReplayCheckpoint>> LoadCheckpoint(StateStore& store);

}  // namespace eroica
