// How the program ends, for scripts: findings are no error, and an error is no finding.
#pragma once

#include <absl/status/status.h>

#include <functional>

namespace eroica {

inline constexpr int kExitNothingFound = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitError = 2;
// No finding, and what was given does not suffice to call the job healthy; or what was read or
// copied had lost a part before.
inline constexpr int kExitCannotTell = 3;

// Says on standard error what went wrong, each line behind the program's name; answers kExitError.
int ExitWithError(const absl::Status& status);

// The exit code that the program answers; where a library's exception ends it, says what was thrown
// on standard error and answers kExitError.
int ExitAtBoundary(const std::function<int()>& program);

}  // namespace eroica
