// Findings in the order of a findings topic, oldest first. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "schemas/finding.h"
#include "stream_ops/log/log.h"

namespace eroica {

class FindingReader : private RebalanceListener {
 public:
  // log must outlive the reader.
  static absl::StatusOr<std::unique_ptr<FindingReader>> Open(Log& log,
                                                             const std::string& topic_prefix);
  // Of a topic that is called otherwise.
  static absl::StatusOr<std::unique_ptr<FindingReader>> OpenTopic(Log& log,
                                                                  const std::string& topic);

  // Appends what came within the timeout, perhaps nothing.
  absl::Status Poll(std::chrono::milliseconds timeout, std::vector<Finding>* out);
  // Whether everything that was there has been read.
  absl::StatusOr<bool> AtEnd();
  // Records that are no finding: skipped.
  uint64_t malformed() const { return malformed_; }

 private:
  explicit FindingReader(std::unique_ptr<LogConsumer> consumer) : consumer_(std::move(consumer)) {}
  std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) override;
  void OnPartitionRevoked(const TopicPartition& partition, bool lost) override;

  Decoder decoder_;
  std::vector<ConsumerRecord> records_;
  uint64_t malformed_ = 0;
  std::unique_ptr<LogConsumer> consumer_;
};

// All that stand on the topic now. poll_timeout: how long one poll waits for records; 0 where no
// more can come.
absl::StatusOr<std::vector<Finding>> ReadAllFindings(
    FindingReader& reader, std::chrono::milliseconds poll_timeout = std::chrono::milliseconds(100));

// Of several versions of one finding, the last, in the order in which the findings were first seen.
std::vector<Finding> LatestVersions(std::vector<Finding> findings);

}  // namespace eroica
