// A stage that holds too much: the rank that floods is cut, the others stay whole.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

// Windows of so many steps that nothing closes by itself.
EventBatch Batch(uint32_t rank, uint64_t sequence, int events) {
  EventBatchBuilder builder(rank, sequence, /*window_steps=*/1'000'000'000);
  const int64_t begin = static_cast<int64_t>(sequence) * kSecond;
  builder.Marked(MarkKind::kStepBegin, static_cast<int64_t>(sequence), begin);
  for (int i = 0; i < events; ++i)
    builder.Ran(fmt::format("f{}", i % 4), begin + i * 1'000, begin + i * 1'000 + 500);
  builder.Marked(MarkKind::kStepEnd, static_cast<int64_t>(sequence), begin + kSecond / 2);
  return builder.Build();
}

std::vector<uint32_t> RanksWithPatterns(const SummarizeHarness& harness) {
  std::vector<uint32_t> ranks;
  for (const PatternBatch& batch : harness.patterns()) ranks.push_back(batch.rank.value);
  return ranks;
}

TEST(SummarizeMemory, TheRankThatFloodsIsCutAndTheOthersStayWhole) {
  const auto pool = std::make_shared<MemoryPool>(uint64_t{4} << 20);
  SummarizeHarness harness({.memory = pool});
  for (uint64_t sequence = 0; sequence < 400; ++sequence) {
    harness.Process(Batch(0, sequence, 4'000));
    if (sequence % 100 == 0) harness.Process(Batch(1, sequence / 100, 10));
    EXPECT_LE(pool->bytes(), pool->bytes_max() + (uint64_t{1} << 20));
  }
  const SummarizeProbe& probe = harness.processor().probe();
  EXPECT_GT(probe.ranks_cut, 0u);
  EXPECT_THAT(RanksWithPatterns(harness), testing::Each(0u));
  harness.ExpectBooksClosed();
}

TEST(SummarizeMemory, WithinItsBoundNothingIsCut) {
  const auto pool = std::make_shared<MemoryPool>(uint64_t{64} << 20);
  SummarizeHarness harness({.memory = pool});
  for (uint64_t sequence = 0; sequence < 20; ++sequence) harness.Process(Batch(0, sequence, 1'000));
  EXPECT_EQ(harness.processor().probe().ranks_cut, 0u);
  EXPECT_GT(pool->bytes(), 0u);
  EXPECT_TRUE(harness.patterns().empty());
}

// A task that holds nothing any more leaves the pool to the others.
TEST(SummarizeMemory, WindowsThatAreClosedBecauseNothingComesAreNoLongerCounted) {
  const auto pool = std::make_shared<MemoryPool>(uint64_t{64} << 20);
  SummarizeHarness harness({.memory = pool});
  for (uint64_t sequence = 0; sequence < 20; ++sequence) harness.Process(Batch(0, sequence, 1'000));
  const uint64_t held = pool->bytes();
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_FALSE(harness.patterns().empty());
  EXPECT_LT(pool->bytes(), held / 10);
}

TEST(MemoryPool, WhoHoldsLessThanItsShareKeepsIt) {
  const auto pool = std::make_shared<MemoryPool>(100);
  MemoryUse small(pool);
  {
    MemoryUse large(pool);
    small.Set(20);
    large.Set(70);
    EXPECT_FALSE(large.MustLetGo());
    large.Set(90);
    EXPECT_TRUE(large.MustLetGo());
    EXPECT_FALSE(small.MustLetGo());
    large.Set(10);
    EXPECT_EQ(pool->bytes(), 30u);
  }
  EXPECT_EQ(pool->bytes(), 20u);
  MemoryUse unbounded(nullptr);
  unbounded.Set(1'000);
  EXPECT_FALSE(unbounded.MustLetGo());
}

}  // namespace
}  // namespace eroica
