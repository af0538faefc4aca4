// Which task, and where it stands in its input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream_ops/log/log.h"

namespace eroica {

// Stage x partition of its input.
struct TaskId {
  std::string stage;
  TopicPartition partition;

  std::string ToString() const;  // "summarize/eroica.events/3"; the task's name in the store
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

// What Table::kPositions holds of a task, under this key.
inline constexpr std::string_view kPositionKey = "input";
struct TaskPosition {
  int64_t restart = 0;    // read again from here
  int64_t processed = 0;  // one past the last record whose effects are committed; at least restart
  friend bool operator==(const TaskPosition&, const TaskPosition&) = default;
};

std::string EncodePosition(const TaskPosition& position);
// Nothing for bytes that EncodePosition did not write.
std::optional<TaskPosition> DecodePosition(std::string_view value);

}  // namespace eroica
