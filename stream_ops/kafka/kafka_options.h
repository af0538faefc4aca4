// How to reach a Kafka cluster.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace eroica {

// How long nothing may come, though there is more: some damage librdkafka fetches again and again
// and says nothing. Tests are less patient.
struct KafkaPatience {
  std::chrono::milliseconds standstill{60'000};  // of a partition, before it is looked at
  std::chrono::milliseconds look{5'000};         // at one offset, of a broker that answers
  std::chrono::milliseconds last_look{30'000};   // at a range that counts as damaged after it
};

struct KafkaOptions {
  std::string bootstrap_servers;  // host:port, several separated by commas
  // librdkafka's properties, all of them (security.protocol, sasl.username, compression.codec ...),
  // for every client. Values that hold secrets are never logged or put into a message.
  std::map<std::string, std::string> properties;
  // How long a question to the cluster (metadata, offsets, commit, create topic) may take.
  std::chrono::milliseconds request_timeout{10'000};
  KafkaPatience patience;
};

}  // namespace eroica
