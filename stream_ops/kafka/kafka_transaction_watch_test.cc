#include "stream_ops/kafka/kafka_transaction_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace eroica {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

const TopicPartition kHeld{"eroica.events", 3};
using Bounds = KafkaStatistics::Bounds;

TEST(KafkaTransactionWatch, SaysAfterHalfAMinuteWhatIsHeldBackAndHowToEndIt) {
  KafkaTransactionWatch watch("broker:9092");
  const KafkaTransactionWatch::TimePoint start{seconds(100)};
  EXPECT_FALSE(watch.Observe({{kHeld, Bounds{5, 7, 9}}}, start));
  EXPECT_FALSE(watch.Observe({{kHeld, Bounds{7, 7, 20}}}, start + seconds(29)));
  EXPECT_EQ(watch.longest(start + seconds(29)), seconds(29));
  const auto line = watch.Observe({{kHeld, Bounds{7, 7, 20}}}, start + seconds(30));
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(*line, AllOf(HasSubstr("partition=eroica.events/3"),
                           HasSubstr("last_stable_offset=7 high_watermark=20 seconds=30"),
                           HasSubstr("kafka-transactions.sh --bootstrap-server broker:9092 abort "
                                     "--topic eroica.events --partition 3 --start-offset 7")));
  EXPECT_FALSE(watch.Observe({{kHeld, Bounds{7, 7, 20}}}, start + seconds(60)));
  EXPECT_TRUE(watch.Observe({{kHeld, Bounds{7, 7, 20}}}, start + seconds(331)));
}

// As transactions are that come and go.
TEST(KafkaTransactionWatch, OneThatMovesOrEndsIsNotSaid) {
  KafkaTransactionWatch watch("broker:9092");
  KafkaTransactionWatch::TimePoint now{seconds(100)};
  for (int64_t stable = 0; stable < 10; ++stable) {
    now += seconds(20);
    EXPECT_FALSE(watch.Observe({{kHeld, Bounds{stable, stable, stable + 5}}}, now));
  }
  EXPECT_FALSE(watch.Observe({{kHeld, Bounds{15, 15, 15}}}, now + seconds(40)));
  EXPECT_EQ(watch.longest(now + seconds(40)), seconds(0));
  EXPECT_FALSE(watch.Observe({{kHeld, Bounds{15, 15, 16}}}, now + seconds(60)));
  EXPECT_FALSE(watch.Observe({}, now + seconds(95)));  // no longer ours
  EXPECT_EQ(watch.longest(now + seconds(95)), seconds(0));
}

}  // namespace
}  // namespace eroica
