// How much of its changelog a task's rows in the store of this node hold. Kept beside them, in
// Table::kPositions.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state_store/state_store.h"
#include "stream_ops/runtime/changelog.h"

namespace eroica {

struct ChangelogCheckpoint {
  int64_t offset = 0;  // the rows hold all records before it
  // The newest owner that the changelog has heard of, before the offset or by a commit behind it.
  ChangelogWriter writer;
  friend bool operator==(const ChangelogCheckpoint&, const ChangelogCheckpoint&) = default;
};

inline constexpr std::string_view kCheckpointKey = "changelog";

std::string EncodeCheckpoint(const ChangelogCheckpoint& checkpoint);
// store: of the task. Nothing where it has none. kDataLoss: the row is none of ours.
absl::StatusOr<std::optional<ChangelogCheckpoint>> ReadCheckpoint(const StateStore& store);

}  // namespace eroica
