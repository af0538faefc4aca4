#include "diagnosis/link_matrix/speed_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace eroica {
namespace {

HealthySpeed FindSpeed(std::vector<double> speeds) { return FindHealthySpeed(std::span(speeds)); }

TEST(SpeedGroups, WithoutGroupsAllAreHealthy) {
  const HealthySpeed healthy = FindSpeed({40, 41, 42, 43, 44, 45, 46, 47, 48});
  EXPECT_NEAR(healthy.speed, 44, 1e-9);
  EXPECT_NEAR(healthy.spread, std::log(44.0 / 42.0), 0.01);
}

TEST(SpeedGroups, AMajorityThatIsSlowIsNotTheMeasure) {
  EXPECT_NEAR(FindSpeed({13, 13, 13, 13, 13, 45, 45, 45}).speed, 45, 1e-9);
  EXPECT_NEAR(FindSpeed({13, 13, 13, 13, 13, 13, 45, 45}).speed, 45, 1e-9);
}

TEST(SpeedGroups, AFewFastOnesAreNoMeasure) {
  EXPECT_NEAR(FindSpeed({13, 13, 13, 13, 13, 13, 13, 13, 45}).speed, 13, 1e-9);
  EXPECT_NEAR(FindSpeed({13, 13, 13, 45}).speed, 13, 1e-9) << "a single one is no group";
}

TEST(SpeedGroups, GroupsThatSpreadAreNone) {
  const HealthySpeed healthy = FindSpeed({10, 12, 14, 17, 20, 24, 35, 42, 50, 60});
  EXPECT_NEAR(healthy.speed, 22, 0.2);
  EXPECT_GT(healthy.spread, 0.3);
}

TEST(SpeedGroups, FewSpeedsAreNotTakenForExact) {
  EXPECT_EQ(FindSpeed({40, 40, 40, 40}).spread, kFewSpread);
  EXPECT_EQ(FindSpeed({40, 40, 40, 40, 40, 40, 40, 40}).spread, 0);
}

TEST(SpeedGroups, OrderAndScaleChangeNothing) {
  const HealthySpeed one = FindSpeed({10, 35, 11, 36, 34, 37, 35, 36});
  const HealthySpeed other = FindSpeed({700, 720, 740, 200, 680, 700, 220, 720});
  EXPECT_NEAR(other.speed, 20 * one.speed, 1e-9);
  EXPECT_NEAR(other.spread, one.spread, 1e-12);
}

TEST(SpeedGroups, OfMoreSpeedsMoreAreLowAtRandom) {
  EXPECT_NEAR(SpreadsBeyondNoise(4), 6, 0.1);
  EXPECT_NEAR(SpreadsBeyondNoise(10'000), 8.4, 0.1);
}

TEST(SpeedGroups, NothingIsNothing) { EXPECT_EQ(FindSpeed({}).speed, 0); }

}  // namespace
}  // namespace eroica
