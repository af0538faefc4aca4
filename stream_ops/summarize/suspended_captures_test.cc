#include "stream_ops/summarize/suspended_captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Window kWindow{.index = 3, .start_ns = 1'000, .end_ns = 2'000};
constexpr MarkKind kSuspended = MarkKind::kCaptureSuspended;
constexpr MarkKind kResumed = MarkKind::kCaptureResumed;

int64_t Mask(uint32_t mask) { return CaptureGap{CaptureKind::kCollectives, mask}.mark_id(); }

TEST(SuspendedCaptures, NoMarkNoGap) {
  const std::vector<Mark> marks = {{1'100, MarkKind::kOptimizerStep, 0},
                                   {1'200, kResumed, Mask(0)}};
  EXPECT_THAT(SuspendedCapturesOf(marks, kWindow), IsEmpty());
}

TEST(SuspendedCaptures, AGapLastsUntilItIsResumedOrTheWindowEnds) {
  const std::vector<Mark> marks = {{1'000, kSuspended, Mask(0)},
                                   {1'300, kSuspended, 0},
                                   {1'400, kSuspended, Mask(2)},
                                   {1'500, kResumed, Mask(0)},
                                   {1'900, kSuspended, Mask(4)}};
  const SuspendedCapture device = {.gap = {CaptureKind::kDeviceWork, 0}, .suspended_ns = 700};
  const SuspendedCapture collectives = {.gap = {CaptureKind::kCollectives, 4}, .suspended_ns = 600};
  EXPECT_THAT(SuspendedCapturesOf(marks, kWindow), ElementsAre(device, collectives));
}

TEST(SuspendedCaptures, WhatANewerProducerNamesIsLeftOut) {
  const std::vector<Mark> marks = {{1'000, kSuspended, 200}, {1'000, kSuspended, -1}};
  EXPECT_THAT(SuspendedCapturesOf(marks, kWindow), IsEmpty());
}

}  // namespace
}  // namespace eroica
