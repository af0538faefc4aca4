#include "ops/config/memory_shares.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

// All at their limits at once.
int64_t Sum(const NodeConfig& config) {
  const MemoryShares shares = SharesOf(config);
  const int64_t handles =
      static_cast<int64_t>(config.node.roles.size()) * config.runtime.threads_per_stage;
  return shares.state + shares.summarize + shares.align + shares.diagnose + shares.shown +
         handles * (shares.fetched + shares.unsent);
}

TEST(MemoryShares, LeaveAnEighthOfTheNode) {
  for (const int64_t mib : {512, 2'048, 65'536}) {
    for (const int64_t threads : {1, 4}) {
      NodeConfig config;
      config.runtime.memory_mib = mib;
      config.runtime.threads_per_stage = threads;
      const int64_t all = mib << 20;
      EXPECT_LE(Sum(config), all * 7 / 8 + all / 50) << mib;
      EXPECT_GT(Sum(config), all * 13 / 16) << mib;
    }
  }
}

TEST(MemoryShares, WhatTheConfigurationSaysOfAPartHolds) {
  NodeConfig config;
  config.state.memory_mib = 17;
  config.summarize.memory_mib = 18;
  config.align.memory_mib = 19;
  config.diagnose.memory_mib = 20;
  const MemoryShares shares = SharesOf(config);
  EXPECT_EQ(shares.state, int64_t{17} << 20);
  EXPECT_EQ(shares.summarize, int64_t{18} << 20);
  EXPECT_EQ(shares.align, int64_t{19} << 20);
  EXPECT_EQ(shares.diagnose, int64_t{20} << 20);
}

TEST(MemoryShares, KafkasQueuesHaveTheirsUnlessTheConfigurationSaysMore) {
  NodeConfig config;
  config.runtime.memory_mib = 1'200;
  config.node.roles = {"diagnose"};
  auto properties = KafkaPropertiesOf(config);
  EXPECT_EQ(properties["queued.max.messages.kbytes"], "76800");
  EXPECT_EQ(properties["queue.buffering.max.kbytes"], "38400");
  EXPECT_EQ(properties["queued.min.messages"], "153600");
  EXPECT_EQ(properties["fetch.max.bytes"], "38400");
  EXPECT_EQ(properties["receive.message.max.bytes"], "78643200");
  config.kafka.properties = {{"queued.max.messages.kbytes", "7"}, {"linger.ms", "1"}};
  properties = KafkaPropertiesOf(config);
  EXPECT_EQ(properties["queued.max.messages.kbytes"], "7");
  EXPECT_EQ(properties["linger.ms"], "1");
}

}  // namespace
}  // namespace eroica
