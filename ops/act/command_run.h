// Runs one program about a finding: its arguments as they are, without a shell, in an environment
// that holds nothing of ours but what the finding names, and for a time that is bounded. One at a
// time, on the caller's thread.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace eroica {

struct CommandOptions {
  std::vector<std::string> arguments;  // the first one is the program, by its absolute path
  std::vector<std::pair<std::string, std::string>> variables;
  std::chrono::milliseconds timeout{60'000};
  size_t output_bytes_max = 4'096;  // kept; what comes behind is read and counted
};

struct CommandResult {
  int exit_code = -1;      // 128 + the signal that ended it
  bool timed_out = false;  // it was killed, with all that it had started in its process group
  std::string output;      // standard output and error, as they came
  size_t bytes_left_out = 0;
  std::chrono::milliseconds took{};
};

// kNotFound, kPermissionDenied: it cannot be started.
absl::StatusOr<CommandResult> RunCommand(const CommandOptions& options);

}  // namespace eroica
