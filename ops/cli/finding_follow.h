// `eroica findings --follow`.
#pragma once

#include <absl/status/statusor.h>

#include "ops/cli/finding_filter.h"
#include "ops/cli/finding_screen.h"
#include "ops/findings/finding_reader.h"

namespace eroica {

// Until somebody says stop (stop_signal.h) or standard output cannot be written. First what stands
// on the topic, each finding as it is by now; every_version: as it was said, version by version.
// Says on standard error when the broker is gone, and when it is back. The exit code.
absl::StatusOr<int> FollowFindings(FindingReader& reader, const FindingFilter& filter,
                                   bool every_version, FindingScreen* screen);

}  // namespace eroica
