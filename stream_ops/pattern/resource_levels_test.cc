#include "stream_ops/pattern/resource_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace eroica {
namespace {

using ::testing::IsEmpty;

TEST(ResourceLevels, MeanAndHighestOfEachResource) {
  const std::vector<ResourceSample> samples = {
      {10, Resource::kCpuWait, 1},   {20, Resource::kCpu, 0},    {30, Resource::kCpu, 1},
      {40, Resource::kGpuErrors, 0}, {50, Resource::kCpu, 0.2f}, {50, Resource::kCpuWait, 1}};
  const std::vector<ResourceLevel> levels = LevelsOf(samples);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].resource, Resource::kCpu);
  EXPECT_DOUBLE_EQ(levels[0].mean, (65'535.0 + 13'107) / (3 * 65'535.0));
  EXPECT_EQ(levels[0].max, 1);
  EXPECT_EQ(levels[0].samples, 3u);
  EXPECT_EQ(levels[1], (ResourceLevel{Resource::kCpuWait, 1, 1, 2}));
  EXPECT_EQ(levels[2], (ResourceLevel{Resource::kGpuErrors, 0, 0, 1}));
}

TEST(ResourceLevels, NothingSampledNothingSaid) { EXPECT_THAT(LevelsOf({}), IsEmpty()); }

TEST(ResourceLevels, TheOrderOfSamplesDoesNotMatter) {
  std::vector<ResourceSample> samples;
  for (int i = 0; i < 1'000; ++i)
    samples.push_back({i, Resource::kCpu, static_cast<float>(i % 17) / 17});
  const std::vector<ResourceLevel> levels = LevelsOf(samples);
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(LevelsOf(samples), levels);
}

}  // namespace
}  // namespace eroica
