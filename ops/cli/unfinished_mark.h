// A mark in the folder of a recording while a command writes it: whoever reads it later learns that
// the command was interrupted, and that what is there is not all.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

namespace eroica {

class UnfinishedMark {
 public:
  // Sets it. command: who writes, for messages ("eroica import"). A mark that an interrupted
  // command has left stays, whoever adds to the recording.
  static absl::StatusOr<UnfinishedMark> Set(const std::string& folder, const std::string& command);
  UnfinishedMark(UnfinishedMark&& other) noexcept;
  UnfinishedMark& operator=(UnfinishedMark&&) = delete;
  // The mark stays.
  ~UnfinishedMark();
  // Everything is written: takes it away.
  absl::Status Remove();

 private:
  UnfinishedMark(std::string path, int fd, bool is_ours)
      : path_(std::move(path)), fd_(fd), is_ours_(is_ours) {}

  std::string path_;
  int fd_ = -1;  // holds a lock as long as the writer lives
  bool is_ours_ = false;
};

// A sentence where a command that wrote the recording was interrupted; empty where it is whole, or
// is being written.
std::string InterruptedWriting(const std::string& folder);

}  // namespace eroica
