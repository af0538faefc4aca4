#include "diagnosis/measurements/typical_call.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace eroica {
namespace {

constexpr double kResolution = 1.0 / 32;

DurationHistogram Calls(std::initializer_list<std::pair<double, uint32_t>> calls) {
  DurationHistogram histogram;
  for (const auto& [us, count] : calls) histogram.Add(static_cast<uint64_t>(us * 1000), count);
  return histogram;
}

TEST(TypicalCallGrowth, IsThatOfAllCallsWhereAllAreLonger) {
  for (const double longer : {1.0, 1.1, 1.5, 3.0})
    EXPECT_NEAR(TypicalCallGrowth(Calls({{100 * longer, 40}, {180 * longer, 40}}),
                                  Calls({{100, 80}, {180, 80}})),
                longer - 1, 2 * kResolution * longer);
}

TEST(TypicalCallGrowth, KnowsNothingOfWhatHitsAFewCalls) {
  EXPECT_NEAR(TypicalCallGrowth(Calls({{100, 80}, {400, 20}}), Calls({{100, 100}})), 0,
              kResolution);
}

// Half of the calls take twice as long by nature, and two more of them do so here.
TEST(TypicalCallGrowth, CallsOfTwoLengthsDoNotMakeItJump) {
  EXPECT_NEAR(TypicalCallGrowth(Calls({{100, 48}, {200, 52}}), Calls({{100, 51}, {200, 49}})), 0,
              2 * kResolution);
}

TEST(TypicalCallGrowth, OfNothingIsNone) {
  EXPECT_EQ(TypicalCallGrowth({}, Calls({{1, 1}})), 0);
  EXPECT_EQ(TypicalCallGrowth(Calls({{1, 1}}), {}), 0);
}

}  // namespace
}  // namespace eroica
