// The recording of one `eroica run`: a folder that no other job has written into, so that findings
// never mix the ranks of two jobs. Owner: the command, before it starts the job.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

#include "ops/config/node_config.h"

namespace eroica {

class RunRecording {
 public:
  // wanted: the folder that the user named; it may be there if it is empty. Empty: default_name in
  // the working folder, with a number behind it where another run has taken it.
  // kFailedPrecondition: there is something in the folder, or beside it the state of a recording
  // that was there.
  static absl::StatusOr<RunRecording> Claim(const std::string& wanted,
                                            const std::string& default_name);

  const std::string& path() const { return path_; }  // absolute
  // The topics in it.
  absl::Status Prepare(const NodeConfig& config) const;
  // No job has come into being: what was made for it goes, the user's own folder stays, empty.
  void Discard(const NodeConfig& config) const;

 private:
  RunRecording(std::string path, bool made) : path_(std::move(path)), made_(made) {}
  std::string path_;
  bool made_;
};

}  // namespace eroica
