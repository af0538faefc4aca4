#include "producers/cupti/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace eroica {
namespace {

struct Lent {
  uint8_t* data = nullptr;
  size_t bytes = 0;
};

Lent Request(BufferPool& pool) {
  Lent lent;
  pool.Request(&lent.data, &lent.bytes);
  return lent;
}

// Whether the system has it in memory.
bool IsResident(const Lent& buffer) {
  std::vector<unsigned char> pages(buffer.bytes / 4'096);
  EXPECT_EQ(mincore(buffer.data, buffer.bytes, pages.data()), 0);
  return std::any_of(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
}

BufferPool::Options Small(size_t buffers, size_t spares) {
  return {.buffer_bytes = 8'192,
          .buffers = buffers,
          .resident_buffers = 2,
          .spare_bytes = 4'096,
          .spares = spares};
}

TEST(BufferPool, BuffersComeBackInTheirOrder) {
  const auto pool = BufferPool::Create(Small(4, 0));
  ASSERT_NE(pool, nullptr);
  std::vector<Lent> lent;
  for (int i = 0; i < 4; ++i) lent.push_back(Request(*pool));
  for (const size_t i : {2u, 0u, 3u, 1u}) {
    std::memset(lent[i].data, 7, lent[i].bytes);
    pool->Complete(lent[i].data, 100 + i);
  }
  std::vector<size_t> order;
  for (BufferPool::Buffer buffer; pool->Take(&buffer); pool->Recycle(buffer)) {
    order.push_back(buffer.valid_bytes);
  }
  EXPECT_EQ(order, (std::vector<size_t>{102, 100, 103, 101}));
}

// What a burst has touched goes back to the system; what is used all the time stays.
TEST(BufferPool, MemoryOfABurstIsGivenBack) {
  const auto pool = BufferPool::Create(Small(4, 0));
  std::vector<Lent> lent;
  for (int i = 0; i < 4; ++i) {
    lent.push_back(Request(*pool));
    EXPECT_FALSE(IsResident(lent.back()));
    std::memset(lent.back().data, 7, lent.back().bytes);
    pool->Complete(lent.back().data, 100);
  }
  for (BufferPool::Buffer buffer; pool->Take(&buffer);) pool->Recycle(buffer);
  std::vector<bool> resident;
  for (const Lent& buffer : lent) resident.push_back(IsResident(buffer));
  EXPECT_EQ(resident, (std::vector<bool>{true, true, false, false}));
}

TEST(BufferPool, AlignedAsCuptiWants) {
  const auto pool = BufferPool::Create(Small(3, 2));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Request(*pool).data) % 8, 0u);
  }
}

TEST(BufferPool, ExhaustedTakesTheOldestUnreadOne) {
  const auto pool = BufferPool::Create(Small(2, 4));
  const Lent first = Request(*pool);
  const Lent second = Request(*pool);
  pool->Complete(first.data, 5'000);
  const Lent again = Request(*pool);
  EXPECT_EQ(again.data, first.data);
  EXPECT_EQ(pool->counts().stolen, 1u);
  EXPECT_EQ(pool->counts().stolen_bytes, 5'000u);
  BufferPool::Buffer buffer;
  EXPECT_FALSE(pool->Take(&buffer));
  EXPECT_FALSE(pool->crowded());
  EXPECT_NE(second.data, nullptr);
}

TEST(BufferPool, HeldByCuptiAltogetherItGivesSparesAndThenNothing) {
  const auto pool = BufferPool::Create(Small(2, 3));
  std::set<uint8_t*> given;
  for (int i = 0; i < 2; ++i) given.insert(Request(*pool).data);
  EXPECT_FALSE(pool->crowded());
  for (int i = 0; i < 3; ++i) {
    const Lent spare = Request(*pool);
    EXPECT_EQ(spare.bytes, 4'096u);
    given.insert(spare.data);
    EXPECT_TRUE(pool->crowded());
  }
  EXPECT_EQ(given.size(), 5u);
  EXPECT_EQ(given.count(nullptr), 0u);
  const Lent none = Request(*pool);
  EXPECT_EQ(none.data, nullptr);
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(pool->counts().refused, 1u);
  // What comes back is of use again.
  pool->Complete(*given.begin(), 0);
  EXPECT_NE(Request(*pool).data, nullptr);
}

TEST(BufferPool, WhatIsNotOursOrComesTwiceIsLeftAlone) {
  const auto pool = BufferPool::Create(Small(2, 0));
  std::vector<uint8_t> foreign(64, 3);
  pool->Complete(foreign.data(), 64);
  pool->Complete(nullptr, 64);
  const Lent lent = Request(*pool);
  pool->Complete(lent.data + 8, 64);  // no beginning of a buffer
  BufferPool::Buffer buffer;
  EXPECT_FALSE(pool->Take(&buffer));
  EXPECT_EQ(foreign, std::vector<uint8_t>(64, 3));
  pool->Complete(lent.data, 64);
  pool->Complete(lent.data, 64);
  EXPECT_TRUE(pool->Take(&buffer));
  EXPECT_FALSE(pool->Take(&buffer));
  EXPECT_EQ(pool->counts().foreign, 4u);
}

TEST(BufferPool, MoreValidBytesThanItHasAreNotBelieved) {
  const auto pool = BufferPool::Create(Small(1, 0));
  pool->Complete(Request(*pool).data, size_t{1} << 40);
  BufferPool::Buffer buffer;
  ASSERT_TRUE(pool->Take(&buffer));
  EXPECT_EQ(buffer.valid_bytes, 8'192u);
}

TEST(BufferPool, AbandonedBuffersAreNotUsedUntilTheyComeBack) {
  const auto pool = BufferPool::Create(Small(2, 0));
  const Lent lost = Request(*pool);
  pool->Abandon();
  EXPECT_EQ(pool->Abandoned(), 1u);
  EXPECT_EQ(pool->Held(), 0u);
  EXPECT_NE(Request(*pool).data, lost.data);
  EXPECT_EQ(Request(*pool).data, nullptr);
  pool->Complete(lost.data, 16);  // the other client was kind
  BufferPool::Buffer buffer;
  ASSERT_TRUE(pool->Take(&buffer));
  EXPECT_EQ(buffer.data, lost.data);
  EXPECT_EQ(pool->Abandoned(), 0u);
}

// CUPTI's threads fill and bring back, ours reads: nothing is lost unseen, no buffer is in two
// hands.
TEST(BufferPool, ManyThreads) {
  constexpr int kWriters = 3;
  constexpr uint64_t kBuffersEach = 2'000;
  const auto pool = BufferPool::Create(Small(4, 8));
  std::atomic<int> running{kWriters};
  std::atomic<uint64_t> refused{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (uint64_t i = 0; i < kBuffersEach; ++i) {
        const Lent lent = Request(*pool);
        if (lent.data == nullptr) {
          ++refused;
          continue;
        }
        std::memset(lent.data, w + 1, lent.bytes);
        pool->Complete(lent.data, lent.bytes);
      }
      --running;
    });
  }
  uint64_t read = 0;
  uint64_t mixed = 0;
  bool more = true;
  while (more) {
    more = running > 0;
    for (BufferPool::Buffer buffer; pool->Take(&buffer); pool->Recycle(buffer)) {
      ++read;
      if (buffer.data[0] != buffer.data[buffer.valid_bytes - 1]) ++mixed;
    }
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(mixed, 0u);
  EXPECT_EQ(read + pool->counts().stolen + refused, kWriters * kBuffersEach);
  EXPECT_EQ(pool->counts().completed, kWriters * kBuffersEach - refused);
}

}  // namespace
}  // namespace eroica
