// Makes and describes topics. Included only by the .cc files of this folder. Thread-safe; connects
// at the first call.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "schemas/mutex.h"
#include "stream_ops/kafka/kafka_client.h"
#include "stream_ops/log/log.h"

namespace eroica {

class KafkaAdmin final : public LogAdmin, private KafkaEvents {
 public:
  explicit KafkaAdmin(const KafkaOptions& options)
      : KafkaEvents(options.bootstrap_servers), options_(options) {}

  // Returns when every partition of the new topic has a leader.
  absl::Status CreateTopic(const TopicSpec& spec) override;
  absl::Status DeleteTopic(const std::string& name) override;
  // config: everything that the cluster tells of the topic, defaults too; empty where we may not
  // ask.
  absl::StatusOr<TopicSpec> DescribeTopic(const std::string& name) override;
  absl::StatusOr<GroupOffsets> DescribeGroup(const std::string& group,
                                             const std::string& topic) override;
  // A broker answers the requests of a connection one after the other: a consumer's connections are
  // busy with fetches that wait for data, this one is not.
  absl::StatusOr<std::map<TopicPartition, int64_t>> EndOffsets(const std::string& topic) override;

 private:
  absl::Status Connect() EROICA_REQUIRES(mutex_);
  // Reads what the group has committed, and never joins it.
  absl::StatusOr<rd_kafka_t*> ClientOf(const std::string& group) EROICA_REQUIRES(mutex_);
  absl::StatusOr<KafkaEvent> Await(rd_kafka_queue_t* answers, std::string_view doing)
      EROICA_REQUIRES(mutex_);
  absl::Status AwaitLeaders(const std::string& topic) EROICA_REQUIRES(mutex_);
  absl::StatusOr<std::map<std::string, std::string>> DescribeConfig(const std::string& topic)
      EROICA_REQUIRES(mutex_);

  const KafkaOptions options_;
  Mutex mutex_;  // one call at a time
  KafkaHandle handle_ EROICA_GUARDED_BY(mutex_);
  std::map<std::string, KafkaNonMember> groups_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
