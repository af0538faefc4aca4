// The folder of a replay: what it reads and how (replay.json), its findings (a recording, so that
// `eroica findings --recording` shows them), and, until it is finished, the topics between its
// stages and their state. The same request goes on where it was left; another is refused.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ops/cli/state_folder.h"
#include "ops/config/node_config.h"
#include "stream_ops/log/log_slice.h"

namespace eroica {

// Two replays with the same request say the same.
struct ReplayRequest {
  std::string source;  // LogSource::name
  std::optional<int64_t> from_ms;
  std::optional<int64_t> to_ms;
  std::string job;     // empty: all
  std::string config;  // the options that findings depend on, as TOML
};
// Those options of it.
std::string ReplayConfigText(const NodeConfig& config);
// The same for the same request.
std::string ReplayIdOf(const ReplayRequest& request);

// As replay.json keeps it: what the first run of the replay has found.
struct ReplayRecord {
  std::string replay_id;
  std::string topic_prefix;
  ReplayRequest request;
  LogSlice slice;
  std::optional<int64_t> until_ms;  // ReplayInput
  std::string eroica_version;
};

class ReplayFolder {
 public:
  // Made if it is not there. take: called where the replay is a new one. kAlreadyExists: there is
  // something else in the folder; kFailedPrecondition: another replay, and in what it differs.
  static absl::StatusOr<ReplayFolder> Open(
      const std::string& path, const std::string& replay_id, const ReplayRequest& request,
      const std::function<absl::StatusOr<ReplayRecord>()>& take);

  const std::string& path() const { return path_; }
  std::string state_path() const { return ReplayStatePath(path_); }
  const ReplayRecord& record() const { return record_; }
  bool is_new() const { return is_new_; }

 private:
  ReplayFolder(std::string path, ReplayRecord record, bool is_new)
      : path_(std::move(path)), record_(std::move(record)), is_new_(is_new) {}

  std::string path_;
  ReplayRecord record_;
  bool is_new_;
};

// Nothing where the folder is no replay's.
absl::StatusOr<std::optional<ReplayRecord>> ReadReplayRecord(const std::string& folder);

}  // namespace eroica
