// A rank whose process is started again and counts its steps from 0.
#include <gtest/gtest.h>

#include "schemas/testing/not_empty.h"
#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Process {
  uint32_t pid = 100;
  int64_t started_ns = 0;
};

// Steps [first, last] of two seconds each, of which the function takes one, from a moment on; in
// windows of two steps.
EventBatch Steps(const Process& process, uint64_t sequence, int64_t first, int64_t last,
                 int64_t start_ns, bool final = false) {
  EventBatchBuilder batch(0, sequence, 2);
  for (int64_t step = first; step <= last; ++step) {
    const int64_t begin_ns = start_ns + (step - first) * 2 * kSecond;
    batch.Marked(MarkKind::kStepBegin, step, begin_ns);
    batch.Ran("a", begin_ns, begin_ns + kSecond);
    batch.Marked(MarkKind::kStepEnd, step, begin_ns + 2 * kSecond);
  }
  EventBatch built = final ? batch.Final().Build() : batch.Build();
  built.identity.pid = process.pid;
  built.identity.started_ns = process.started_ns;
  return built;
}

// Windows by index, of the process that started then or has this pid.
std::vector<int64_t> IndicesOf(const SummarizeHarness& harness, uint32_t pid, int64_t from_ns) {
  std::vector<int64_t> indices;
  for (const PatternBatch& batch : NotEmpty(harness.patterns())) {
    if (batch.pid == pid && batch.window.start_ns >= from_ns) {
      EXPECT_FALSE(batch.silent);
      indices.push_back(batch.window.index);
    }
  }
  return indices;
}

using Indices = std::vector<int64_t>;

TEST(RunsOfARank, WindowsBeginAgainWithTheNewProcess) {
  for (const bool said_last_words : {false, true}) {
    SummarizeHarness harness;
    harness.Process(Steps({100}, 0, 0, 5, 0, said_last_words));
    harness.Process(Steps({101}, 0, 0, 5, 100 * kSecond));
    harness.Process(Steps({101}, 1, 6, 7, 112 * kSecond, /*final=*/true));
    EXPECT_EQ(IndicesOf(harness, 100, 0), (Indices{0, 1, 2})) << said_last_words;
    EXPECT_EQ(IndicesOf(harness, 101, 100 * kSecond), (Indices{0, 1, 2, 3}));
    EXPECT_TRUE(harness.patterns().back().final);
    harness.ExpectBooksClosed();
    EXPECT_EQ(harness.processor().probe().events_late, 0u);
  }
}

// A container has the same host and process number each time.
TEST(RunsOfARank, AProcessIsAnotherOneByItsStart) {
  SummarizeHarness harness;
  harness.Process(Steps({7, 1}, 0, 0, 5, 0));
  harness.Process(Steps({7, 99 * kSecond}, 0, 0, 3, 100 * kSecond, /*final=*/true));
  EXPECT_EQ(IndicesOf(harness, 7, 0), (Indices{0, 1, 2, 0, 1}));
  EXPECT_EQ(harness.processor().probe().batches_duplicate, 0u);
  harness.ExpectBooksClosed();
}

TEST(RunsOfARank, ARestartAtAnyMomentChangesNothing) {
  const std::vector<EventBatch> batches = {
      Steps({100}, 0, 0, 2, 0), Steps({100}, 1, 3, 4, 6 * kSecond),
      Steps({101}, 0, 0, 1, 100 * kSecond), Steps({101}, 1, 2, 5, 104 * kSecond),
      Steps({102}, 0, 0, 3, 200 * kSecond, /*final=*/true)};
  SummarizeHarness undisturbed;
  for (const EventBatch& batch : batches) undisturbed.Process(batch);
  EXPECT_EQ(undisturbed.patterns().size(), 8u);
  for (size_t moment = 0; moment < batches.size(); ++moment) {
    SummarizeHarness harness;
    for (size_t i = 0; i < batches.size(); ++i) {
      harness.Process(batches[i]);
      if (i == moment) harness.Restart();
    }
    EXPECT_EQ(harness.patterns(), undisturbed.patterns()) << moment;
  }
}

TEST(RunsOfARank, TheLastBatchOfTheProcessBeforeMayComeAfterTheFirstOfTheNext) {
  SummarizeHarness harness;
  harness.Process(Steps({100}, 0, 0, 3, 0));
  harness.Process(Steps({101}, 0, 0, 1, 20 * kSecond));
  harness.Process(Steps({100}, 1, 4, 5, 8 * kSecond, /*final=*/true));
  harness.Process(Steps({101}, 1, 2, 3, 24 * kSecond, /*final=*/true));
  EXPECT_EQ(IndicesOf(harness, 100, 0), (Indices{0, 1, 2}));
  EXPECT_EQ(IndicesOf(harness, 101, 0), (Indices{0, 1}));
  harness.ExpectBooksClosed();
}

// EROICA_RANK on every host: nothing that the second one sent is taken for the first one's.
TEST(RunsOfARank, TwoProcessesSideBySideAreNotMixed) {
  for (const int64_t ahead_s : {0, 1, 100}) {  // of the other one's clock
    SummarizeHarness harness;
    constexpr int kBatches = 12;
    for (int i = 0; i < kBatches; ++i) {
      const int64_t begin_ns = i * 4 * kSecond;
      const bool last = i + 1 == kBatches;
      const auto number = static_cast<uint64_t>(i);
      harness.Process(Steps({100}, number, 2 * i, 2 * i + 1, begin_ns, last));
      EventBatch other =
          Steps({101}, number, 2 * i, 2 * i + 1, begin_ns + ahead_s * kSecond + kSecond / 2, last);
      other.identity.host = "other";
      harness.Process(other);
    }
    harness.Punctuate(PunctuationType::kIdle);
    harness.ExpectBooksClosed();
    const std::vector<PatternBatch> patterns = NotEmpty(harness.patterns());
    for (const PatternBatch& batch : patterns) {
      const FunctionPattern* a = FindPattern(batch, "a");
      ASSERT_NE(a, nullptr);
      EXPECT_EQ(a->count, batch.steps.size()) << ahead_s << ": " << batch.window.index;
    }
    // By a clock that is far ahead it has taken over before the first one was heard again.
    EXPECT_EQ(patterns.back().pid, ahead_s < 100 ? 100u : 101u) << ahead_s;
    EXPECT_EQ(patterns.back().suspended,
              (std::vector<SuspendedCapture>{{.gap = {CaptureKind::kProcesses, 1},
                                              .suspended_ns = patterns.back().window.end_ns -
                                                              patterns.back().window.start_ns}}))
        << ahead_s;
  }
}

// EROICA_FIRST_STEP: the standby of rank 0 goes on in the middle of a window.
TEST(RunsOfARank, AProcessThatGoesOnSharesTheWindow) {
  SummarizeHarness harness;
  harness.Process(Steps({100}, 0, 0, 2, 0));
  harness.Process(Steps({101}, 0, 3, 5, 20 * kSecond));
  harness.Process(Steps({101}, 1, 6, 7, 30 * kSecond));
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(harness.Patterns(0, 1).window.first_step, 2);
  EXPECT_EQ(harness.Patterns(0, 1).window.last_step, 3);
  EXPECT_EQ(harness.Patterns(0, 2).pid, 101u);
  harness.ExpectBooksClosed();
}

TEST(RunsOfARank, ARankThatHasNotComeBackYetIsNotSilent) {
  SummarizeHarness harness;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EventBatch batch = Steps({100}, 0, 0, 9, 0);
    batch.identity.rank = RankId{rank};
    batch.identity.world_size = 2;
    harness.Process(batch);
  }
  harness.Punctuate(PunctuationType::kIdle);
  EventBatch back = Steps({101}, 0, 0, 3, 100 * kSecond);
  back.identity.world_size = 2;
  harness.Process(back);
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_EQ(harness.processor().probe().windows_silent, 0u);
  EXPECT_EQ(IndicesOf(harness, 101, 0), (Indices{0, 1}));
}

}  // namespace
}  // namespace eroica
