// Keeps a FindingIndex up to date from the findings topic, on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "ops/findings/finding_index.h"
#include "ops/findings/topic_follower.h"
#include "schemas/codec.h"
#include "stream_ops/log/log.h"

namespace eroica {

class FindingFollower {
 public:
  // log and index must outlive the follower.
  FindingFollower(Log& log, std::string_view topic_prefix, FindingIndex& index);
  // Begins to follow; once.
  void Start();

  // Records that are no finding. Thread-safe.
  uint64_t malformed() const { return malformed_; }

 private:
  void Take(const ConsumerRecord& record);

  FindingIndex& index_;
  Decoder decoder_;  // of the follower's thread
  std::atomic<uint64_t> malformed_ = 0;
  TopicFollower follower_;  // ends before what it fills
};

}  // namespace eroica
