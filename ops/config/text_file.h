// Small files, read whole: configuration and secrets.
#pragma once

#include <absl/status/statusor.h>

#include <string>

namespace eroica {

// kNotFound, with the system's reason, where it cannot be opened or read (a folder, no permission);
// kInvalidArgument above one MiB.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace eroica
