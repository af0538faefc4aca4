// The log on a Kafka cluster, by librdkafka. Only this folder knows of librdkafka, and only inside
// its .cc files.
//
// Consumers without a group read all partitions of their topics; those of a group share them by
// Kafka's protocol. Only committed records are read. A cluster that goes away is waited for
// (kUnavailable meanwhile) and taken up again without help. Thread-safe; consumers and producers
// may outlive it.
#pragma once

#include <memory>

#include "stream_ops/kafka/kafka_options.h"
#include "stream_ops/log/log.h"

namespace eroica {

class KafkaAdmin;

class KafkaLog final : public Log {
 public:
  // Checks the properties, connects to nothing yet. kInvalidArgument names the property that is
  // unknown, refused or ours to set.
  static absl::StatusOr<std::unique_ptr<KafkaLog>> Open(const KafkaOptions& options);
  ~KafkaLog() override;

  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(const ConsumerOptions& options) override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override;
  absl::StatusOr<std::unique_ptr<LogProducer>> NewTransactionalProducer(
      const std::string& transactional_id) override;
  LogAdmin& admin() override;

 private:
  explicit KafkaLog(const KafkaOptions& options);

  const KafkaOptions options_;
  std::unique_ptr<KafkaAdmin> admin_;
};

}  // namespace eroica
