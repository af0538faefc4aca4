// The standard output of another program that this one asks something.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace eroica {

// variables: set beside what this process has. Its standard error is thrown away.
// kDeadlineExceeded: it took longer and was killed. kUnknown: it ended otherwise than with 0.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command,
                                     const std::map<std::string, std::string>& variables,
                                     std::chrono::milliseconds timeout);

}  // namespace eroica
