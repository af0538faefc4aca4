// What stands on a topic now, from its oldest record to what was its end when the scan began: a
// topic that grows meanwhile, be it by what the reader does, does not prolong it. One thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica {

class TopicScan {
 public:
  // log must outlive the scan.
  static absl::StatusOr<std::unique_ptr<TopicScan>> Open(Log& log, const std::string& topic);

  // Replaces *records by the next ones, in offset order within each partition; perhaps by none.
  // False: there are no more. kNotFound: no such topic.
  absl::StatusOr<bool> Next(std::vector<ConsumerRecord>* records);

  // Offsets that the scan has passed, and that it passes in all; for a progress bar.
  uint64_t passed() const;
  uint64_t total() const;

 private:
  explicit TopicScan(std::unique_ptr<LogConsumer> consumer) : consumer_(std::move(consumer)) {}
  absl::Status FindEnds();

  struct Range {
    int64_t begin = 0;
    int64_t position = 0;
    int64_t end = 0;
  };

  std::unique_ptr<LogConsumer> consumer_;
  std::map<TopicPartition, Range> ranges_;  // known after the first poll
};

}  // namespace eroica
