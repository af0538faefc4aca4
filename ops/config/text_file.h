// Small files, read whole: configuration, policies, secrets and certificates.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <string>

namespace eroica {

// So long a pipe may say nothing.
inline constexpr std::chrono::seconds kPipePatience{10};

// A pipe is read to its end, too, so that <(command) of a shell and /dev/stdin may be named.
// kNotFound, with the system's reason, where it cannot be opened or read (a folder, no permission);
// kInvalidArgument above one MiB; kDeadlineExceeded for a pipe or device of which nothing comes for
// `patience`.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         std::chrono::milliseconds patience = kPipePatience);

}  // namespace eroica
