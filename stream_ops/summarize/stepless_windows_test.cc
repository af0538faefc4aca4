// RankWindows before the first step that is ever seen of a rank.
#include <gtest/gtest.h>

#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

// Of MPI, JAX or a program of one's own: who says no steps is seen all the same.
TEST(SteplessWindows, WithoutStepsTheyAreOfTime) {
  SummarizeHarness harness;
  harness.Process(
      EventBatchBuilder(0, 0, 5).Ran("a", 0, kSecond).Ran("b", 8 * kSecond, 12 * kSecond).Build());
  harness.Process(EventBatchBuilder(0, 1, 5).Ran("a", 14 * kSecond, 15 * kSecond).Build());
  ASSERT_EQ(harness.patterns().size(), 1u) << "the watermark has passed the first ten seconds";
  EXPECT_EQ(harness.patterns()[0].window.kind, WindowKind::kTime);
  EXPECT_TRUE(harness.patterns()[0].steps.empty());
  EXPECT_EQ(FindPattern(harness.patterns()[0], "b")->total_ns, 2 * kSecond);
  harness.Process(EventBatchBuilder(0, 2, 5).Final().Build());
  ASSERT_EQ(harness.patterns().size(), 2u);
  EXPECT_TRUE(harness.patterns()[1].final);
  EXPECT_EQ(FindPattern(harness.patterns()[1], "b")->total_ns, 2 * kSecond);
  EXPECT_EQ(harness.processor().events_held(), 0u);
  harness.ExpectBooksClosed();
}

TEST(SteplessWindows, TheFirstStepEndsTheWindowsOfTime) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0, 2)
                      .Ran("load", 2 * kSecond, 30 * kSecond)
                      .Ran("a", 16 * kSecond, 17 * kSecond)
                      .Build());
  ASSERT_EQ(harness.patterns().size(), 2u) << "the second one lasts into the first step";
  harness.Process(EventBatchBuilder(0, 1, 2)
                      .Marked(kBegin, 0, 31 * kSecond)
                      .Ran("init", 12 * kSecond, 31 * kSecond)
                      .Ran("b", 32 * kSecond, 33 * kSecond)
                      .Marked(kEnd, 0, 34 * kSecond)
                      .Build());
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.patterns().size(), 3u);
  const PatternBatch steps = harness.patterns()[2];
  EXPECT_EQ(steps.window.kind, WindowKind::kSteps);
  EXPECT_EQ(steps.window.index, 0);
  EXPECT_EQ(steps.completeness.late, 0u) << "what began before the first step is outside of it";
  EXPECT_NE(FindPattern(steps, "b"), nullptr);
  EXPECT_EQ(FindPattern(steps, "load"), nullptr);
  EXPECT_EQ(FindPattern(steps, "init"), nullptr);
  harness.ExpectBooksClosed();
}

// A node that is idle or full closes a window of time early; the first step may begin in it.
TEST(SteplessWindows, AWindowOfTimeThatIsClosedEarlyLosesNoStep) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0, 2).Ran("load", kSecond, 3 * kSecond).Build());
  harness.Punctuate(PunctuationType::kIdle);
  ASSERT_EQ(harness.patterns().size(), 1u);
  harness.Process(EventBatchBuilder(0, 1, 2).Ran("more", 5 * kSecond, 6 * kSecond).Build());
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_EQ(harness.patterns().size(), 1u) << "no window comes twice";
  EXPECT_EQ(harness.processor().probe().events_late, 1u);
  harness.Process(EventBatchBuilder(0, 2, 2)
                      .Marked(kBegin, 0, 7 * kSecond)
                      .Ran("b", 7 * kSecond, 8 * kSecond)
                      .Marked(kEnd, 0, 9 * kSecond)
                      .Build());
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.patterns().size(), 2u);
  EXPECT_EQ(harness.patterns()[1].window.kind, WindowKind::kSteps);
  EXPECT_EQ(harness.patterns()[1].steps.size(), 1u);
}

// A loop with a data loader whose optimizer nobody knows: its first step lasts as long as the job,
// and ends where it began (producers/core/step_detector.h).
TEST(SteplessWindows, AStepThatNeverEndsIsNone) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0, 2)
                      .Marked(kBegin, 0, kSecond)
                      .Ran("a", kSecond, 2 * kSecond)
                      .Ran("b", 3 * kSecond, 4 * kSecond)
                      .Build());
  EXPECT_TRUE(harness.patterns().empty());
  harness.Process(EventBatchBuilder(0, 1, 2).Marked(kEnd, 0, kSecond).Final().Build());
  ASSERT_EQ(harness.patterns().size(), 1u);
  EXPECT_EQ(harness.patterns()[0].window.kind, WindowKind::kTime);
  EXPECT_TRUE(harness.patterns()[0].final);
  EXPECT_NE(FindPattern(harness.patterns()[0], "b"), nullptr);
  harness.ExpectBooksClosed();
}

// The loop has asked for one more batch, in the window behind its last one.
TEST(SteplessWindows, TheLastWindowIsFinalThoughAStepThatIsNoneFollows) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0, 1)
                      .Marked(kBegin, 0, kSecond)
                      .Ran("a", kSecond, 2 * kSecond)
                      .Marked(kEnd, 0, 3 * kSecond)
                      .Marked(kBegin, 1, 3 * kSecond)
                      .Marked(kEnd, 1, 3 * kSecond)
                      .Final()
                      .Build());
  ASSERT_EQ(harness.patterns().size(), 1u);
  EXPECT_EQ(harness.patterns()[0].window.index, 0);
  EXPECT_TRUE(harness.patterns()[0].final) << "the job has ended";
  harness.ExpectBooksClosed();
}

}  // namespace
}  // namespace eroica
