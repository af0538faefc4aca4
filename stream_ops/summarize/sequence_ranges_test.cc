#include "stream_ops/summarize/sequence_ranges.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace eroica {
namespace {

TEST(SequenceRanges, AgreesWithAPlainSet) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    SequenceRanges ranges;
    std::set<uint64_t> plain;
    for (int i = 0; i < 60; ++i) {
      const uint64_t sequence = random() % 40;
      if (random() % 4 == 0) {
        ranges.Remove(sequence);
        plain.erase(sequence);
      } else {
        EXPECT_EQ(ranges.Add(sequence), plain.insert(sequence).second);
      }
    }
    uint64_t missing = 0;
    for (uint64_t sequence = 3; sequence <= 30; ++sequence)
      missing += plain.contains(sequence) ? 0 : 1;
    EXPECT_EQ(ranges.CountMissing(3, 30), missing);
    for (uint64_t sequence = 0; sequence < 41; ++sequence)
      EXPECT_EQ(ranges.Contains(sequence), plain.contains(sequence));
    for (auto range = ranges.ranges().begin(); range != ranges.ranges().end(); ++range) {
      const auto next = std::next(range);
      const bool apart = next == ranges.ranges().end() || range->second + 1 < next->first;
      EXPECT_TRUE(apart) << "neither overlapping nor adjacent";
    }
  }
}

TEST(SequenceRanges, EndsOfTheNumbers) {
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  SequenceRanges ranges;
  EXPECT_EQ(ranges.CountMissing(0, kLargest), kLargest) << "saturates";
  EXPECT_TRUE(ranges.Add(kLargest));
  EXPECT_FALSE(ranges.Add(kLargest));
  EXPECT_TRUE(ranges.Add(0));
  EXPECT_TRUE(ranges.Add(kLargest - 1));
  EXPECT_EQ(ranges.ranges().size(), 2u);
  EXPECT_EQ(ranges.CountMissing(kLargest - 2, kLargest), 1u);
  EXPECT_EQ(ranges.CountMissing(5, 4), 0u);
}

TEST(SequenceRanges, HostileNumbersDoNotFillTheMemory) {
  SequenceRanges ranges;
  for (uint64_t i = 0; i < 10'000; ++i) ranges.Add(i * 2);
  EXPECT_LE(ranges.ranges().size(), SequenceRanges::kMostRanges);
  EXPECT_TRUE(ranges.Contains(19'998));
  EXPECT_FALSE(ranges.Contains(19'997)) << "the newest stay exact";
}

}  // namespace
}  // namespace eroica
