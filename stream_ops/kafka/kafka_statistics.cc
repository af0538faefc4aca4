#include "stream_ops/kafka/kafka_statistics.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace eroica {
namespace {

using Json = nlohmann::json;

// The field's number, or 0 where librdkafka has none or a mark below 0.
uint64_t CountOf(const Json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end() || !field->is_number_integer()) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(0, field->get<int64_t>()));
}

void AddBroker(const Json& broker, ClientMeasures* client) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  client->requests_waiting += CountOf(broker, "outbuf_cnt") + CountOf(broker, "waitresp_cnt");
  client->request_errors += CountOf(broker, "txerrs");
  client->request_retries += CountOf(broker, "txretries");
  client->request_timeouts += CountOf(broker, "req_timeouts");
  client->disconnects += CountOf(broker, "disconnects");
  const auto round_trip = broker.find("rtt");
  if (round_trip == broker.end() || !round_trip->is_object()) return;
  const double p99 = static_cast<double>(CountOf(*round_trip, "p99")) / kMicrosecondsPerSecond;
  client->round_trip_p99_seconds = std::max(client->round_trip_p99_seconds, p99);
}

void AddPartition(const std::string& topic, const Json& partition, KafkaStatistics* statistics) {
  constexpr int64_t kUnknown = -1;
  statistics->client.queued_bytes += CountOf(partition, "fetchq_size");
  const int64_t number = partition.value("partition", kUnknown);
  const int64_t stable_end = partition.value("ls_offset", kUnknown);
  if (number < 0 || stable_end < 0) return;  // librdkafka's own, or nothing fetched of it
  const int64_t taken = partition.value("next_offset", kUnknown) -
                        static_cast<int64_t>(CountOf(partition, "fetchq_cnt"));
  const int64_t first = std::max({int64_t{0}, partition.value("lo_offset", kUnknown), taken});
  const int64_t end = std::max(stable_end, partition.value("hi_offset", kUnknown));
  statistics->bounds[{topic, static_cast<int32_t>(number)}] = {first, stable_end, end};
}

}  // namespace

std::optional<KafkaStatistics> ParseKafkaStatistics(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("brokers") || !json.contains("topics"))
    return std::nullopt;
  KafkaStatistics statistics;
  statistics.client.queued_bytes = CountOf(json, "msg_size");  // of a producer
  for (const Json& broker : json["brokers"]) AddBroker(broker, &statistics.client);
  for (const auto& [topic, about] : json["topics"].items()) {
    if (!about.contains("partitions")) continue;
    for (const Json& partition : about["partitions"]) AddPartition(topic, partition, &statistics);
  }
  return statistics;
}

}  // namespace eroica
