#include "producers/core/event_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "producers/core/ring_pool.h"

namespace eroica {
namespace {

RingSlot Numbered(int64_t number) { return {.a = number}; }

TEST(EventRing, WhatDoesNotFitIsRefusedWholeAndWhatWasThereStays) {
  auto ring = std::make_unique<EventRing>();
  for (size_t i = 0; i + 1 < EventRing::kCapacity; ++i)
    ASSERT_TRUE(ring->Push(std::array{Numbered(static_cast<int64_t>(i))}));
  EXPECT_FALSE(ring->Push(std::array{Numbered(-1), RingSlot{.kind = SlotKind::kSecondHalf}}));
  EXPECT_TRUE(ring->Push(std::array{Numbered(7)}));
  EXPECT_FALSE(ring->Push(std::array{Numbered(-1)}));
  int64_t last = -1;
  EXPECT_EQ(ring->Drain([&](const RingSlot* slot, const RingSlot*) { last = slot->a; }),
            EventRing::kCapacity);
  EXPECT_EQ(last, 7);
  EXPECT_TRUE(ring->Push(std::array{Numbered(8)}));
}

TEST(EventRing, HalvesStayTogetherAcrossTheEndOfTheMemory) {
  auto ring = std::make_unique<EventRing>();
  const std::array pair{RingSlot{.a = 1, .kind = SlotKind::kCollective},
                        RingSlot{.a = 2, .kind = SlotKind::kSecondHalf}};
  ASSERT_TRUE(ring->Push(std::array{Numbered(0)}));
  size_t pairs = 0;
  for (size_t round = 0; round < EventRing::kCapacity; ++round) {
    ASSERT_TRUE(ring->Push(pair));
    ring->Drain([&](const RingSlot* first, const RingSlot* second) {
      if (first->kind != SlotKind::kCollective) return;
      ASSERT_NE(second, nullptr);
      EXPECT_EQ(second->a, 2);
      ++pairs;
    });
  }
  EXPECT_EQ(pairs, EventRing::kCapacity);
}

TEST(EventRing, OneWriterAndOneReaderLoseAndDoubleNothing) {
  constexpr int64_t kEvents = 300'000;
  auto ring = std::make_unique<EventRing>();
  std::thread writer([&] {
    for (int64_t i = 0; i < kEvents;) i += ring->Push(std::array{Numbered(i)}) ? 1 : 0;
  });
  int64_t next = 0;
  while (next < kEvents) {
    ring->Drain([&](const RingSlot* slot, const RingSlot*) { ASSERT_EQ(slot->a, next++); });
  }
  writer.join();
}

TEST(RingPool, EveryThreadItsOwnUntilNoneIsLeftAndDeadOnesComeBackDrained) {
  const std::unique_ptr<RingPool> pool = RingPool::Make();
  ASSERT_NE(pool, nullptr);
  std::vector<EventRing*> rings;
  for (pid_t thread = 1; thread <= static_cast<pid_t>(RingPool::kRings); ++thread)
    rings.push_back(pool->Claim(thread));
  EXPECT_EQ(pool->Claim(1'000), nullptr);
  ASSERT_TRUE(rings[3]->Push(std::array{Numbered(1)}));
  const auto only_five_live = [](pid_t thread) { return thread == 5; };
  pool->Reclaim(only_five_live);  // all but the fifth's and the one that holds an event
  EXPECT_EQ(pool->Claim(1'001), rings[0]);
  pool->ForEach([](EventRing& ring) { ring.Drain([](const RingSlot*, const RingSlot*) {}); });
  pool->Reclaim(only_five_live);
  size_t held = 0;
  pool->ForEach([&](EventRing&) { ++held; });
  EXPECT_EQ(held, 1u);
}

}  // namespace
}  // namespace eroica
