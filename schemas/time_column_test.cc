#include "schemas/time_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "schemas/codec.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTimeMax = CodecLimits::kMaxTimeNs;
constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

TEST(TimeColumn, SumsDeltasInUnits) {
  std::vector<uint64_t> times = {0, 3, 0, 7};
  ASSERT_EQ(SumTimes(500, 1'000, times), DropReason::kNone);
  EXPECT_THAT(times, ElementsAre(500, 3'500, 3'500, 10'500));
}

TEST(TimeColumn, ReachesTheEndOfTimeAndNotBeyond) {
  std::vector<uint64_t> last = {static_cast<uint64_t>(kTimeMax)};
  EXPECT_EQ(SumTimes(0, 1, last), DropReason::kNone);
  std::vector<uint64_t> beyond = {static_cast<uint64_t>(kTimeMax), 1};
  EXPECT_EQ(SumTimes(0, 1, beyond), DropReason::kTimeOutOfRange);
  std::vector<uint64_t> from_the_end = {1};
  EXPECT_EQ(SumTimes(kTimeMax, 1, from_the_end), DropReason::kTimeOutOfRange);
}

TEST(TimeColumn, RefusesWhatWouldOverflow) {
  std::vector<uint64_t> huge = {kHuge};
  EXPECT_EQ(SumTimes(1, 1, huge), DropReason::kTimeOutOfRange);
  std::vector<uint64_t> product = {uint64_t{1} << 33};
  EXPECT_EQ(SumTimes(0, 1u << 31, product), DropReason::kTimeOutOfRange);
  std::vector<uint64_t> durations = {0, uint64_t{1} << 33, 0};
  EXPECT_EQ(ScaleDurations(1u << 31, durations), DropReason::kTimeOutOfRange);
  std::vector<uint64_t> longest = {kHuge};
  EXPECT_EQ(ScaleDurations(1, longest), DropReason::kTimeOutOfRange);
}

TEST(TimeColumn, RefusesANegativeBaseAndNoUnit) {
  std::vector<uint64_t> times = {1};
  EXPECT_EQ(SumTimes(-1, 1, times), DropReason::kTimeOutOfRange);
  EXPECT_EQ(SumTimes(0, 0, times), DropReason::kTimeOutOfRange);
  EXPECT_EQ(ScaleDurations(0, times), DropReason::kTimeOutOfRange);
}

TEST(TimeColumn, ScalesDurations) {
  std::vector<uint64_t> durations = {0, 1, static_cast<uint64_t>(kTimeMax) / 1'000};
  ASSERT_EQ(ScaleDurations(1'000, durations), DropReason::kNone);
  EXPECT_THAT(durations, ElementsAre(0, 1'000, static_cast<uint64_t>(kTimeMax) / 1'000 * 1'000));
}

}  // namespace
}  // namespace eroica
