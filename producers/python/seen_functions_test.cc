#include "producers/python/seen_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kOfSteps = 5 * kNsPerMs;
constexpr int64_t kOfReports = 100 * kNsPerMs;

TEST(SeenFunctions, OneEntryASampleAndEqualOnesSideBySide) {
  SeenFunctions seen;
  EXPECT_THAT(seen.In(kOfSteps), IsEmpty());
  for (const uint32_t function : {5u, 3u, 5u}) seen.Add(kOfSteps, function);
  EXPECT_THAT(seen.In(kOfSteps), ElementsAre(3, 5, 5));
  EXPECT_EQ(seen.newest(), 5u);
}

TEST(SeenFunctions, TheOldestIsForgotten) {
  SeenFunctions seen;
  seen.Add(kOfSteps, 1);
  for (size_t i = 0; i < SeenFunctions::kNewest; ++i) seen.Add(kOfSteps, 2);
  EXPECT_THAT(seen.In(kOfSteps), Each(2u));
}

// A report that lasts for a second says nothing of the steps behind it.
TEST(SeenFunctions, OfStretchesThatLastedAboutAsLong) {
  SeenFunctions seen;
  seen.Add(kOfSteps, 1);
  for (int i = 0; i < 10; ++i) seen.Add(kOfReports, 2);
  EXPECT_THAT(seen.In(kOfSteps), ElementsAre(1));
  EXPECT_THAT(seen.In(kOfSteps + kOfSteps / 4), ElementsAre(1));
  EXPECT_THAT(seen.In(kOfReports), Each(2u));
  EXPECT_THAT(seen.In(10 * kOfReports), Each(2u)) << "the longest that was seen";
  EXPECT_THAT(seen.In(1), ElementsAre(1)) << "the shortest";
}

}  // namespace
}  // namespace eroica
