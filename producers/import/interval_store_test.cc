#include "producers/import/interval_store.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace eroica {
namespace {

TEST(IntervalStore, GivesBackByStart) {
  SortBudget budget;
  IntervalStore store(budget);
  for (const int64_t start : {5, 1, 3})
    ASSERT_TRUE(store.Add({.start_ns = start, .duration_ns = 1}).ok());
  ASSERT_TRUE(store.Add({.start_ns = 3, .duration_ns = 9})
                  .ok());  // the caller of the one that starts with it
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(store.Rewind().ok());
    std::vector<std::pair<int64_t, int64_t>> seen;
    for (IntervalRecord record; store.Next(&record);)
      seen.emplace_back(record.start_ns, record.duration_ns);
    EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 9}, {3, 1}, {5, 1}}));
  }
  EXPECT_EQ(store.spilled_runs(), 0u);
}

TEST(IntervalStore, MergesWhatDidNotFit) {
  SortBudget budget{.limit_bytes = 1 << 20};
  IntervalStore store(budget);
  constexpr uint32_t kCount = 400'000;
  std::mt19937 random(7);
  for (uint32_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(store
                    .Add({.start_ns = static_cast<int64_t>(random() % 1'000'000),
                          .duration_ns = 1,
                          .function = i})
                    .ok());
  }
  EXPECT_GT(store.spilled_runs(), 3u);
  EXPECT_EQ(store.size(), kCount);
  EXPECT_LE(budget.used_bytes, size_t{4} << 20);
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(store.Rewind().ok());
    std::vector<bool> seen(kCount);
    uint32_t count = 0;
    int64_t last = -1;
    for (IntervalRecord record; store.Next(&record); ++count) {
      ASSERT_GE(record.start_ns, last);
      last = record.start_ns;
      ASSERT_FALSE(seen[record.function]);
      seen[record.function] = true;
    }
    EXPECT_EQ(count, kCount);
    EXPECT_TRUE(store.status().ok());
  }
}

TEST(IntervalStore, GivesItsMemoryBack) {
  SortBudget budget;
  {
    IntervalStore store(budget);
    ASSERT_TRUE(store.Add({}).ok());
    EXPECT_GT(budget.used_bytes, 0u);
  }
  EXPECT_EQ(budget.used_bytes, 0u);
}

}  // namespace
}  // namespace eroica
