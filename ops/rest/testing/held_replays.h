// Replays that nobody carries out: what is asked for is held, and a test says how it ends.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/rest/replays.h"

namespace eroica {

class HeldReplays final : public Replays {
 public:
  absl::StatusOr<ReplayStatus> Ask(ReplayOrder order, const std::string& by) override {
    for (const std::string& option : order.options) {
      if (option.starts_with("kafka."))
        return absl::FailedPreconditionError(option + " is refused");
    }
    if (held.size() >= most) return absl::ResourceExhaustedError("too many wait");
    ReplayStatus replay;
    replay.id = std::string(11, '0') + std::to_string(held.size());
    replay.order = std::move(order);
    replay.by = by;
    replay.asked_ms = 1'700'000'001'000;
    held.insert(held.begin(), replay);
    return replay;
  }
  std::vector<ReplayStatus> List() const override { return held; }
  std::optional<ReplayStatus> Find(const std::string& id) const override {
    for (const ReplayStatus& replay : held) {
      if (replay.id == id) return replay;
    }
    return std::nullopt;
  }
  absl::Status Cancel(const std::string& id) override {
    for (ReplayStatus& replay : held) {
      if (replay.id != id) continue;
      if (!IsLive(replay.state)) return absl::FailedPreconditionError("it has ended already");
      replay.state = ReplayState::kCancelled;
      return absl::OkStatus();
    }
    return absl::NotFoundError("");
  }

  std::vector<ReplayStatus> held;  // newest first
  size_t most = 1'000;
};

}  // namespace eroica
