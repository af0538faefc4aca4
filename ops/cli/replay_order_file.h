// order.json in the folder of a replay that was asked for over REST: who wanted it, what, and how
// it ended. What it found is beside it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

#include "ops/rest/replays.h"

namespace eroica {

absl::Status WriteReplayOrder(const ReplayStatus& replay);
// Without its findings. kNotFound: the folder has none; kDataLoss: it is damaged.
absl::StatusOr<ReplayStatus> ReadReplayOrder(const std::string& folder);

}  // namespace eroica
