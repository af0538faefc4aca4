#include "ops/cli/slice_flags.h"

#include <fmt/format.h>

#include "ops/cli/time_text.h"

namespace eroica {

void SliceFlags::AddTo(CLI::App& command) {
  command
      .add_option("--from", from_,
                  "Records of this time and later: 2026-11-24T10:00:00Z, '2026-11-24 10:00' (UTC), "
                  "2h or 3d (so long ago); default: the oldest")
      ->type_name("TIME");
  command
      .add_option("--to", to_, "Records before this time; default: all that are there at the start")
      ->type_name("TIME");
  command.add_option("--job", job_, "Only records of this job")->type_name("JOB");
}

absl::StatusOr<SliceTimes> SliceFlags::Times(int64_t now_ms) const {
  SliceTimes times;
  const auto parse = [now_ms](const std::string& text, const char* flag,
                              std::optional<int64_t>* time_ms) -> absl::Status {
    if (text.empty()) return absl::OkStatus();
    const absl::StatusOr<int64_t> parsed = ParseTimeMs(text, now_ms);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: {}", flag, std::string(parsed.status().message())));
    }
    *time_ms = *parsed;
    return absl::OkStatus();
  };
  if (absl::Status status = parse(from_, "--from", &times.from_ms); !status.ok()) return status;
  if (absl::Status status = parse(to_, "--to", &times.to_ms); !status.ok()) return status;
  if (times.from_ms && times.to_ms && *times.from_ms >= *times.to_ms) {
    return absl::InvalidArgumentError(fmt::format(
        "--to {} is not after --from {}", TimeText(*times.to_ms), TimeText(*times.from_ms)));
  }
  return times;
}

}  // namespace eroica
