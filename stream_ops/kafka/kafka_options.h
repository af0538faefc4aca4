// How to reach a Kafka cluster.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace eroica {

struct KafkaOptions {
  std::string bootstrap_servers;  // host:port, several separated by commas
  // librdkafka's properties, all of them (security.protocol, sasl.username, compression.codec ...),
  // for every client. Values that hold secrets are never logged or put into a message.
  std::map<std::string, std::string> properties;
  // How long a question to the cluster (metadata, offsets, commit, create topic) may take.
  std::chrono::milliseconds request_timeout{10'000};
};

}  // namespace eroica
