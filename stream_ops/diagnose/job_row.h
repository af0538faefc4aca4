// The row of Table::kJobs: what a job was like in its newest window. It is read when a task opens,
// so that a restarted node knows its jobs before their next window; as JSON, for people, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stream_ops/diagnose/window_snapshot.h"

namespace eroica {

std::string EncodeJobRow(const WindowSummary& newest);
// Fields that are missing are as in a new WindowSummary. Nothing where it is no such row.
std::optional<WindowSummary> DecodeJobRow(std::string_view row);

}  // namespace eroica
