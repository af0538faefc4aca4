#include "tests/evaluation/simulate/roofline.h"

#include <gtest/gtest.h>

namespace eroica::simulate {
namespace {

TEST(Roofline, ByDefaultALowerClockSlowsEverything) {
  const Roofline roofline{Hardware{}};
  for (int i = 0; i < kKernelKindCount; ++i) {
    const auto kind = static_cast<KernelKind>(i);
    EXPECT_EQ(roofline.UnderClock(kind, 3 * kUnit / 2), 3 * kUnit / 2);
    EXPECT_EQ(roofline.UnderClock(kind, kUnit), kUnit);
    EXPECT_EQ(roofline.MemoryLevel(kind, 43'690, kUnit), 43'690u);
  }
}

TEST(Roofline, MemoryBoundKernelsFollowTheMemory) {
  const Roofline roofline({.memory_bound = {.matrix = 0.25, .elementwise = 1},
                           .clock_on_memory = 0,
                           .clock_on_copies = 0});
  EXPECT_EQ(roofline.UnderClock(KernelKind::kMatrix, 2 * kUnit), kUnit + 3 * kUnit / 4);
  EXPECT_EQ(roofline.UnderMemory(KernelKind::kMatrix, 2 * kUnit), kUnit + kUnit / 4);
  EXPECT_EQ(roofline.UnderClock(KernelKind::kElementwise, 2 * kUnit), kUnit);
  EXPECT_EQ(roofline.UnderMemory(KernelKind::kElementwise, 2 * kUnit), 2 * kUnit);
  EXPECT_EQ(roofline.UnderClock(KernelKind::kCopy, 2 * kUnit), kUnit);
  EXPECT_EQ(roofline.UnderMemory(KernelKind::kCopy, 2 * kUnit), kUnit);
}

TEST(Roofline, PartOfALowerClockIsFeltByTheMemory) {
  const Roofline roofline({.memory_bound = {.elementwise = 1}, .clock_on_memory = 0.25});
  EXPECT_EQ(roofline.UnderClock(KernelKind::kElementwise, 2 * kUnit), kUnit + kUnit / 4);
}

TEST(Roofline, FasterIsShorter) {
  const Roofline roofline(
      {.memory_bound = {.matrix = 0.5, .elementwise = 1}, .clock_on_memory = 0});
  EXPECT_EQ(roofline.UnderClock(KernelKind::kMatrix, kUnit / 2), kUnit - kUnit / 4);
  EXPECT_EQ(roofline.UnderMemory(KernelKind::kElementwise, kUnit / 2), kUnit / 2);
}

TEST(Roofline, AsManyBytesInALongerTimeAreALowerLevel) {
  const Roofline roofline({.memory_bound = {.matrix = 0, .elementwise = 1}, .clock_on_memory = 0});
  EXPECT_EQ(roofline.MemoryLevel(KernelKind::kElementwise, kUnit / 2, kUnit), kUnit);
  EXPECT_EQ(roofline.MemoryLevel(KernelKind::kMatrix, kUnit / 2, kUnit), kUnit / 2);
  EXPECT_EQ(roofline.MemoryLevel(KernelKind::kElementwise, kUnit, 2 * kUnit), kUnit / 2);
  EXPECT_EQ(roofline.MemoryLevel(KernelKind::kMatrix, kUnit, 2 * kUnit), kUnit);
}

}  // namespace
}  // namespace eroica::simulate
