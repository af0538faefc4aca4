#include "stream_ops/kafka/kafka_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::string_view kStatistics = R"({
  "name": "eroica#consumer-1", "client_id": "eroica", "type": "consumer", "msg_size": 7,
  "brokers": {
    "one:9092/1": {"outbuf_cnt": 1, "waitresp_cnt": 2, "txerrs": 3, "txretries": 4,
                   "req_timeouts": 5, "disconnects": 6, "rtt": {"p99": 1500, "cnt": 9}},
    "GroupCoordinator": {"outbuf_cnt": 0, "waitresp_cnt": 1, "rtt": {"p99": 900}, "txerrs": 1}
  },
  "topics": {
    "eroica.events": {"topic": "eroica.events", "partitions": {
      "0": {"partition": 0, "fetchq_size": 100, "lo_offset": 5, "hi_offset": 20,
            "ls_offset": 18},
      "1": {"partition": 1, "fetchq_size": 50, "hi_offset": -1001, "ls_offset": -1001},
      "2": {"partition": 2, "fetchq_cnt": 2, "lo_offset": -1001, "next_offset": 9,
            "ls_offset": 9},
      "-1": {"partition": -1, "fetchq_size": 0, "ls_offset": 3}
    }}
  }
})";

TEST(KafkaStatistics, BrokersAreAddedUpAndTheSlowestCounts) {
  const std::optional<KafkaStatistics> statistics = ParseKafkaStatistics(kStatistics);
  ASSERT_TRUE(statistics.has_value());
  const ClientMeasures& client = statistics->client;
  EXPECT_EQ(client.requests_waiting, 4U);
  EXPECT_EQ(client.request_errors, 4U);
  EXPECT_EQ(client.request_retries, 4U);
  EXPECT_EQ(client.request_timeouts, 5U);
  EXPECT_EQ(client.disconnects, 6U);
  EXPECT_EQ(client.queued_bytes, 157U);
  EXPECT_DOUBLE_EQ(client.round_trip_p99_seconds, 0.0015);
}

TEST(KafkaStatistics, APartitionOfWhichNothingWasFetchedHasNoEnd) {
  const std::optional<KafkaStatistics> statistics = ParseKafkaStatistics(kStatistics);
  ASSERT_TRUE(statistics.has_value());
  EXPECT_THAT(
      statistics->bounds,
      ElementsAre(Pair(TopicPartition{"eroica.events", 0}, KafkaStatistics::Bounds{5, 18, 20}),
                  Pair(TopicPartition{"eroica.events", 2}, KafkaStatistics::Bounds{7, 9, 9})));
}

TEST(KafkaStatistics, WhatIsNoStatisticsIsNone) {
  for (const std::string_view text : {"", "{}", "[1]", "{\"brokers\":{}", "null"})
    EXPECT_FALSE(ParseKafkaStatistics(text).has_value()) << text;
  EXPECT_TRUE(ParseKafkaStatistics(R"({"brokers":{"a":{"txerrs":"x"}},"topics":{"t":{}}})"));
}

TEST(KafkaStatistics, ClientsTogetherHaveTheSumOfTheirLags) {
  ClientMeasures all;
  all.Add({.queued_bytes = 1, .round_trip_p99_seconds = 0.5});
  EXPECT_FALSE(all.lag_records.has_value());
  all.Add({.lag_records = 3, .round_trip_p99_seconds = 0.1});
  all.Add({.lag_records = 4});
  EXPECT_EQ(all.lag_records, 7);
  EXPECT_DOUBLE_EQ(all.round_trip_p99_seconds, 0.5);
}

}  // namespace
}  // namespace eroica
