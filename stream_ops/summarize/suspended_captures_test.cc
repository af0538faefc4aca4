#include "stream_ops/summarize/suspended_captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream_ops/summarize/summarize_harness.h"

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

// As a producer's core sends it: said again as each step begins.
TEST(SuspendedCaptures, AWindowOfStepsSaysWhatStoodStillInIt) {
  EventBatchBuilder rank(0, 0, 2);
  for (int64_t step = 0; step < 6; ++step) {
    const int64_t begin_ns = (10 + step) * kSecond;
    rank.Marked(kBegin, step, begin_ns);
    if (step == 3) rank.Marked(kSuspended, Mask(0), begin_ns);
    rank.Ran("train", begin_ns, begin_ns + kSecond);
    if (step == 2) rank.Marked(kSuspended, Mask(0), begin_ns + kSecond / 2);
    if (step == 3) rank.Marked(kResumed, Mask(0), begin_ns + kSecond / 2);
    rank.Marked(kEnd, step, begin_ns + kSecond);
  }
  SummarizeHarness harness;
  harness.Process(rank.Final().Build());
  EXPECT_THAT(harness.Patterns(0, 0).suspended, IsEmpty());
  const SuspendedCapture half = {.gap = {CaptureKind::kCollectives, 0}, .suspended_ns = kSecond};
  EXPECT_THAT(harness.Patterns(0, 1).suspended, ElementsAre(half));
  EXPECT_THAT(harness.Patterns(0, 2).suspended, IsEmpty());
}

}  // namespace
}  // namespace eroica
