#include "stream_ops/kafka/kafka_log.h"

#include <spdlog/spdlog.h>

#include "stream_ops/kafka/kafka_admin.h"
#include "stream_ops/kafka/kafka_consumer.h"
#include "stream_ops/kafka/kafka_producer.h"

namespace eroica {

namespace {

void WarnOfScram(const KafkaProperties& properties) {
  for (const std::string name : {"sasl.mechanism", "sasl.mechanisms"}) {
    const auto mechanism = properties.find(name);
    if (mechanism == properties.end() || !mechanism->second.starts_with("SCRAM")) continue;
    if (!ScramLimit().empty()) spdlog::warn("kafka: {}", ScramLimit());
  }
}

}  // namespace

KafkaLog::KafkaLog(const KafkaOptions& options)
    : options_(options), admin_(std::make_unique<KafkaAdmin>(options)) {}
KafkaLog::~KafkaLog() = default;

absl::StatusOr<std::unique_ptr<KafkaLog>> KafkaLog::Open(const KafkaOptions& options) {
  if (absl::Status status = CheckKafkaProperties(options.properties); !status.ok()) return status;
  if (absl::StatusOr<KafkaConf> conf = MakeKafkaConf(options, KafkaRole::kProducer, {}); !conf.ok())
    return conf.status();
  WarnOfScram(options.properties);
  return std::unique_ptr<KafkaLog>(new KafkaLog(options));
}

absl::StatusOr<std::unique_ptr<LogConsumer>> KafkaLog::NewConsumer(const ConsumerOptions& options) {
  return KafkaConsumer::Make(options_, options);
}

absl::StatusOr<std::unique_ptr<LogProducer>> KafkaLog::NewProducer() {
  return KafkaProducer::Make(options_, "");
}

absl::StatusOr<std::unique_ptr<LogProducer>> KafkaLog::NewTransactionalProducer(
    const std::string& transactional_id) {
  return KafkaProducer::Make(options_, transactional_id);
}

LogAdmin& KafkaLog::admin() { return *admin_; }

}  // namespace eroica
