#include "ops/findings/topic_follower.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "stream_ops/log/memory_log.h"

namespace eroica {
namespace {

// Throws at ops/findings/topic_follower.cc: the reading of a topic
TEST(TopicFollower, WhatATakerThrowsIsTriedAgain) {
  MemoryLog log;
  ASSERT_TRUE(
      log.admin()
          .CreateTopic({.name = "t", .partitions = 1, .config = {}, .replication_factor = 1})
          .ok());
  const auto producer = *log.NewProducer();
  ASSERT_TRUE(
      producer->Append({.topic = "t", .key = "", .value = "record", .headers = {}, .partition = 0})
          .ok());
  std::atomic<int> taken = 0;
  std::atomic<bool> caught_up = false;
  TopicFollower follower(log, "t", "test");
  follower.Start({.take =
                      [&](const ConsumerRecord&) {
                        const int before = taken++;
                        if (before == 0) throw std::bad_alloc();
                        if (before == 1) throw 7;
                      },
                  .caught_up = [&] { caught_up = true; }});
  while (!caught_up) std::this_thread::yield();
  follower.Stop();
  EXPECT_EQ(taken, 3);
}

}  // namespace
}  // namespace eroica
