// The file that a trace is written to: compressed where its name ends in .gz. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace eroica {

class TraceOutput {
 public:
  // kAlreadyExists: a file of that name is there, and is left as it is; kUnavailable: it cannot be
  // made.
  static absl::StatusOr<std::unique_ptr<TraceOutput>> Create(const std::string& path);
  // Removes a file that was not closed.
  ~TraceOutput();
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  absl::Status Write(std::string_view text);
  absl::Status Close();
  // Written so far, before compression.
  uint64_t bytes() const { return bytes_; }

 private:
  TraceOutput(std::string path, void* file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  void* file_;  // a gzFile; nullptr: closed
  uint64_t bytes_ = 0;
};

}  // namespace eroica
