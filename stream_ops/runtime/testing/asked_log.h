// A log that counts how often it is asked for the ends of each topic. Single-threaded.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "stream_ops/log/log.h"

namespace eroica::testing {

class AskedLog final : public Log, public LogAdmin {
 public:
  // inner must outlive this.
  explicit AskedLog(Log& inner) : inner_(inner) {}
  std::map<std::string, int> asked;

  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(
      const ConsumerOptions& options) override {
    return inner_.NewConsumer(options);
  }
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override {
    return inner_.NewProducer();
  }
  LogAdmin& admin() override { return *this; }

  absl::Status CreateTopic(const TopicSpec& spec) override {
    return inner_.admin().CreateTopic(spec);
  }
  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) override {
    return inner_.admin().DescribeTopic(name);
  }
  absl::StatusOr<GroupOffsets> DescribeGroup(const std::string& group,
                                             const std::string& topic) override {
    return inner_.admin().DescribeGroup(group, topic);
  }
  absl::StatusOr<std::map<TopicPartition, int64_t>> EndOffsets(const std::string& topic) override {
    ++asked[topic];
    return inner_.admin().EndOffsets(topic);
  }

 private:
  Log& inner_;
};

}  // namespace eroica::testing
