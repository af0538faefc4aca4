// The flags of every subcommand that reads a part of a log: which times, and of which job.
#pragma once

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace eroica {

struct SliceTimes {
  std::optional<int64_t> from_ms;
  std::optional<int64_t> to_ms;
};

class SliceFlags {
 public:
  // The flags live as long as the command may be parsed.
  void AddTo(CLI::App& command);
  // kInvalidArgument for what is no time, and where the end is not after the beginning.
  absl::StatusOr<SliceTimes> Times(int64_t now_ms) const;
  const std::string& job() const { return job_; }

 private:
  std::string from_;
  std::string to_;
  std::string job_;
};

}  // namespace eroica
