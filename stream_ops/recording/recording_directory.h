// The folder of a recording, apart from its segments:
//
//   <folder>/<topic>/topic.json                      how many partitions, and the topic's settings
//   <folder>/<topic>/<partition>/<offset>.segment    see segment.h
//   <folder>/__groups/<group>.json                   committed offsets; replaced as a whole
//
// Thread-safe within a process; between processes the last writer of a file wins.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>

#include "schemas/mutex.h"
#include "stream_ops/log/log.h"

namespace eroica {

class RecordingDirectory {
 public:
  explicit RecordingDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  absl::Status CreateTopic(const TopicSpec& spec);
  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name);
  // With all that is in it; ok where there is none.
  absl::Status DeleteTopic(const std::string& name);
  std::string PartitionPath(const TopicPartition& partition) const;

  absl::StatusOr<std::optional<int64_t>> Committed(const std::string& group,
                                                   const TopicPartition& partition);
  absl::Status Commit(const std::string& group, const GroupOffsets& offsets);

 private:
  using Offsets = std::map<TopicPartition, int64_t>;

  std::string TopicPath(const std::string& topic) const;
  absl::StatusOr<std::string> GroupPath(const std::string& group) const;
  absl::StatusOr<Offsets> ReadGroup(const std::string& path) const;

  const std::string path_;
  Mutex mutex_;  // one change of the files at a time
};

}  // namespace eroica
