#include "ops/cli/node_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <new>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::minutes kDeadline{1};

// Throws at ops/cli/node_watch.cc: the watch over the stages
TEST(NodeWatch, WhatALookThrowsStopsTheStagesAndEndsTheNodeWithAnError) {
  std::promise<void> stopped;  // setting it twice throws
  NodeWatch watch([] { throw std::bad_alloc(); }, [&] { stopped.set_value(); });
  EXPECT_EQ(stopped.get_future().wait_for(kDeadline), std::future_status::ready);
  const absl::Status status = watch.End();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("an exception ended the watch over the stages: std::bad_alloc"));
}

TEST(NodeWatch, LooksUntilItsEndAndThenStopsTheStages) {
  std::promise<void> looked;
  int looks = 0;
  int stops = 0;
  NodeWatch watch(
      [&] {
        if (++looks == 1) looked.set_value();
      },
      [&] { ++stops; });
  EXPECT_EQ(looked.get_future().wait_for(kDeadline), std::future_status::ready);
  EXPECT_TRUE(watch.End().ok());
  EXPECT_EQ(stops, 1);
}

}  // namespace
}  // namespace eroica
