// PyTorch flight-recorder dumps: which collectives a rank enqueued, in which group, with which
// sequence number. JSON, or Python's pickle.
#pragma once

#include <absl/status/statusor.h>

#include <filesystem>
#include <string_view>

#include "producers/import/collective_calls.h"

namespace eroica {

absl::StatusOr<FlightRecorderDump> ReadFlightRecorderDump(const std::filesystem::path& path);

// By content: JSON begins with a brace, a pickle with its protocol byte.
absl::StatusOr<FlightRecorderDump> ParseFlightRecorderDump(std::string_view content);

}  // namespace eroica
