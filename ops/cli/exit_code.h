// How the program ends, for scripts: findings are no error, and an error is no finding.
#pragma once

#include <absl/status/status.h>

namespace eroica {

inline constexpr int kExitNothingFound = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitError = 2;
// No finding, and what was given does not suffice to call the job healthy; or what was read or
// copied had lost a part before.
inline constexpr int kExitCannotTell = 3;

// Says on standard error what went wrong, each line behind the program's name; answers kExitError.
int ExitWithError(const absl::Status& status);

}  // namespace eroica
