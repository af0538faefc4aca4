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
  // the working folder. Where that is taken (there is something in it, or beside it the state of a
  // recording that was there) it has a number behind it. kFailedPrecondition: a thousand are taken.
  static absl::StatusOr<RunRecording> Claim(const std::string& wanted,
                                            const std::string& default_name);

  const std::string& path() const { return path_; }  // absolute
  // Not the folder that the user named.
  bool is_another() const { return is_another_; }
  // The topics in it.
  absl::Status Prepare(const NodeConfig& config) const;
  // No job has come into being: what was made for it goes, the user's own folder stays, empty.
  void Discard(const NodeConfig& config) const;

 private:
  RunRecording(std::string path, bool made, bool is_another)
      : path_(std::move(path)), made_(made), is_another_(is_another) {}
  std::string path_;
  bool made_;
  bool is_another_;
};

}  // namespace eroica
