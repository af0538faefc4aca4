#include "ops/findings/finding_follower.h"

#include <gtest/gtest.h>

#include <thread>

#include "schemas/example_payloads.h"
#include "schemas/test_encoder.h"
#include "stream_ops/log/memory_log.h"

namespace eroica {
namespace {

TEST(FindingFollowerTest, ReadsWhatIsThereSaysSoAndFollows) {
  MemoryLog log;
  ASSERT_TRUE(
      log.admin()
          .CreateTopic(
              {.name = "eroica.findings", .partitions = 2, .config = {}, .replication_factor = 1})
          .ok());
  const auto producer = *log.NewProducer();
  TestEncoder encoder;
  const auto publish = [&](const std::string& id, int32_t partition) {
    Finding finding = ExampleFinding();
    finding.id = id;
    const Bytes bytes = encoder.Encode(finding);
    ASSERT_TRUE(producer
                    ->Append({.topic = "eroica.findings",
                              .key = "job",
                              .value = {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                              .headers = {},
                              .partition = partition})
                    .ok());
  };
  publish("a", 0);
  publish("b", 1);
  ASSERT_TRUE(producer
                  ->Append({.topic = "eroica.findings",
                            .key = "job",
                            .value = "no finding",
                            .headers = {},
                            .partition = 1})
                  .ok());
  FindingIndex index(1'000'000);
  FindingFollower follower(log, "eroica", index);
  EXPECT_FALSE(index.caught_up());
  follower.Start();
  while (!index.caught_up()) std::this_thread::yield();
  EXPECT_EQ(index.size(), 2U);
  EXPECT_EQ(follower.malformed(), 1U);
  publish("c", 0);
  while (index.size() < 3) std::this_thread::yield();
  EXPECT_EQ(PositionText(index.position()), "0:2,1:1");
}

TEST(FindingFollowerTest, ATopicThatComesLaterIsWaitedFor) {
  MemoryLog log;
  FindingIndex index(1'000'000);
  FindingFollower follower(log, "eroica", index);
  follower.Start();
  ASSERT_TRUE(
      log.admin()
          .CreateTopic(
              {.name = "eroica.findings", .partitions = 1, .config = {}, .replication_factor = 1})
          .ok());
  while (!index.caught_up()) std::this_thread::yield();
  EXPECT_EQ(index.size(), 0U);
}

}  // namespace
}  // namespace eroica
