// For tests: a log in memory that holds the patterns topic.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "schemas/codec.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/topic_layout.h"
#include "stream_ops/topics.h"

namespace eroica {

class PatternLog {
 public:
  PatternLog() {
    EXPECT_TRUE(CreateMissingTopics(log_.admin(), kDefaultTopicPrefix, TopicLayout()).ok());
  }

  // payload: an encoded pattern batch or collective summary of the job "job".
  void Append(const Bytes& payload) {
    absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
    ASSERT_TRUE(producer.ok()) << producer.status();
    ASSERT_TRUE(
        (*producer)
            ->Append({.topic = TopicName(kDefaultTopicPrefix, Topic::kPatterns),
                      .key = "job",
                      .value = {reinterpret_cast<const char*>(payload.data()), payload.size()},
                      .headers = {},
                      .timestamp_ms = 1,
                      .partition = 0})
            .ok());
  }

  Log& log() { return log_; }

 private:
  MemoryLog log_;
};

}  // namespace eroica
