// Keeps a FindingIndex up to date: a thread of its own reads the findings topic from its beginning
// and follows it. What fails and may pass is tried again; the index stays as it was meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "ops/findings/finding_index.h"
#include "stream_ops/log/log.h"

namespace eroica {

class FindingFollower {
 public:
  // log and index must outlive the follower.
  FindingFollower(Log& log, std::string topic_prefix, FindingIndex& index);
  // Begins to follow; once.
  void Start();
  // Stops; at once where it was not started.
  ~FindingFollower();

  // Thread-safe. Whether the last look at the topic succeeded; records that are no finding.
  bool reading() const { return reading_; }
  uint64_t malformed() const { return malformed_; }

 private:
  void Run(const std::stop_token& stop);
  // Until something fails or somebody says stop.
  absl::Status Follow(const std::stop_token& stop);

  Log& log_;
  const std::string topic_prefix_;
  FindingIndex& index_;
  std::atomic<bool> reading_ = false;
  std::atomic<uint64_t> malformed_ = 0;
  std::jthread thread_;
};

}  // namespace eroica
