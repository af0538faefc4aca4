// One result, whatever happens on the way: batches out of order within the bound, duplicates,
// restarts at any record.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

// Two ranks with two windows' worth of everything; window_steps 0: windows of time.
std::vector<EventBatch> Job(uint32_t window_steps, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  std::vector<EventBatch> batches;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    int64_t now = 100 * kSecond + below(kSecond);
    int64_t step = 7;
    uint64_t collective = 0;
    for (uint64_t sequence = 0; sequence < 40; ++sequence) {
      EventBatchBuilder batch(rank, sequence, window_steps);
      const int64_t begin = now;
      batch.Marked(MarkKind::kStepBegin, step, now);
      batch.Ran("step " + std::to_string(below(3)), now, now + 500'000'000 + below(2 * kSecond));
      for (int i = 0; i < 5; ++i) {
        now += below(100'000'000) + 1;
        batch.Ran("f" + std::to_string(below(6)), now, now + below(80'000'000),
                  below(2) == 0 ? FunctionClass::kPython : FunctionClass::kCpuOp);
        batch.Sampled(Resource::kCpu, now, static_cast<float>(below(100)) / 100);
      }
      now += 1;
      if (below(3) > 0) batch.Reduced(collective++, now, now + below(300'000'000));
      now += 400'000'000;
      if (below(4) > 0) batch.Marked(MarkKind::kStepEnd, step, now);
      if (below(3) == 0)
        batch.Reported(now + below(kSecond), step, "f1", static_cast<int64_t>(collective),
                       now - below(kSecond));
      if (below(3) == 0) batch.Marked(MarkKind::kForwardBegin, step, now);
      if (below(9) == 0)
        batch.Marked(below(2) == 0 ? MarkKind::kCheckpointBegin : MarkKind::kCheckpointEnd, step,
                     now);
      if (below(5) == 0) batch.Lost(static_cast<uint64_t>(below(10)));
      now = std::max(now, begin + 600'000'000) + below(50'000'000);
      ++step;
      if (sequence == 39) batch.Final();
      batches.push_back(batch.Build());
    }
  }
  // By time, as two ranks would send.
  std::stable_sort(batches.begin(), batches.end(), [](const EventBatch& a, const EventBatch& b) {
    return a.sequence < b.sequence;
  });
  return batches;
}

const SummarizeOptions kOptions{.window_ns = 4 * kSecond, .out_of_orderness_ns = 3 * kSecond};

// Which messages are only in one of the two, by what they speak of.
std::string Difference(const std::vector<Forwarded>& actual,
                       const std::vector<Forwarded>& expected) {
  std::string text;
  const auto describe = [&](std::string_view side, const Forwarded& message) {
    const Bytes bytes = std::as_bytes(std::span(message.payload));
    PatternBatch patterns;
    CollectiveBatch collectives;
    RankStanding standing;
    if (Decoder().Decode(bytes, &standing) == DropReason::kNone) {
      text += fmt::format(
          "{}: standing of rank {} at {}, progress at {}, step mean {}, pause {}, counts {}\n",
          side, standing.rank.value, standing.time_ns, standing.last_progress_ns,
          standing.step_mean_ns, ToString(standing.pause),
          standing.operations.empty() ? 0 : standing.operations[0].completed);
      return;
    }
    const bool is_pattern = Decoder().Decode(bytes, &patterns) == DropReason::kNone;
    EXPECT_TRUE(is_pattern || Decoder().Decode(bytes, &collectives) == DropReason::kNone);
    const Completeness& c = patterns.completeness;
    text += fmt::format("{}: {} of rank {}, window {}, events {} late {} lost {} outside {}\n",
                        side, is_pattern ? "patterns" : "collectives",
                        is_pattern ? patterns.rank.value : collectives.rank.value,
                        is_pattern ? patterns.window.index : collectives.window.index, c.events,
                        c.late, c.lost, c.outside);
  };
  std::vector<Forwarded> only;
  std::set_difference(actual.begin(), actual.end(), expected.begin(), expected.end(),
                      std::back_inserter(only));
  for (const Forwarded& message : only) describe("unexpected", message);
  only.clear();
  std::set_difference(expected.begin(), expected.end(), actual.begin(), actual.end(),
                      std::back_inserter(only));
  for (const Forwarded& message : only) describe("missing", message);
  return text;
}

std::vector<Forwarded> Sorted(std::vector<Forwarded> forwarded) {
  std::sort(forwarded.begin(), forwarded.end());
  return forwarded;
}

std::vector<Forwarded> Undisturbed(const std::vector<EventBatch>& batches) {
  SummarizeHarness harness(kOptions);
  for (const EventBatch& batch : batches) harness.Process(batch);
  harness.ExpectBooksClosed();
  EXPECT_EQ(harness.processor().events_held(), 0u);
  EXPECT_EQ(harness.processor().probe().events_late, 0u);
  return Sorted(harness.forwarded());
}

class SummarizeReplayTest : public testing::TestWithParam<uint32_t> {};

TEST_P(SummarizeReplayTest, ShuffledWithinTheBoundAndWithDuplicates) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<EventBatch> batches = Job(GetParam(), seed);
    const std::vector<Forwarded> expected = Undisturbed(batches);
    EXPECT_GT(expected.size(), 10u);
    std::mt19937 random(seed);
    // where it arrives, which: up to 3 places late, so 2 s at most
    std::vector<std::pair<size_t, size_t>> order;
    for (size_t i = 0; i < batches.size(); ++i) {
      order.emplace_back(i + random() % 4, i);
      if (random() % 5 == 0) order.emplace_back(i + random() % 4, i);
    }
    std::sort(order.begin(), order.end());
    SummarizeHarness harness(kOptions);
    for (const auto& [place, index] : order) harness.Process(batches[index]);
    EXPECT_EQ(Difference(Sorted(harness.forwarded()), expected), "") << "seed " << seed;
    harness.ExpectBooksClosed();
  }
}

TEST_P(SummarizeReplayTest, RestartedAfterEveryRecord) {
  for (uint32_t seed = 0; seed < 3; ++seed) {
    const std::vector<EventBatch> batches = Job(GetParam(), seed);
    const std::vector<Forwarded> expected = Undisturbed(batches);
    SummarizeHarness harness(kOptions);
    for (const EventBatch& batch : batches) {
      harness.Process(batch);
      harness.Restart();
      harness.ExpectBooksClosed();
    }
    EXPECT_EQ(Difference(Sorted(harness.forwarded()), expected), "") << "seed " << seed;
    EXPECT_EQ(harness.processor().probe().events_late, 0u);
  }
}

TEST_P(SummarizeReplayTest, RestartedOnceAnywhereWithLateAndLostBatches) {
  std::vector<EventBatch> batches = Job(GetParam(), 1);
  std::rotate(batches.begin() + 10, batches.begin() + 11,
              batches.begin() + 60);                  // one comes much too late
  batches.erase(batches.begin() + 30);                // one never comes
  batches.insert(batches.begin() + 40, batches[38]);  // one comes twice
  SummarizeHarness undisturbed(kOptions);
  for (const EventBatch& batch : batches) undisturbed.Process(batch);
  undisturbed.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_GT(undisturbed.processor().probe().events_late, 0u);
  EXPECT_GT(undisturbed.processor().probe().events_lost, 0u);
  for (size_t stop = 0; stop < batches.size(); ++stop) {
    SummarizeHarness harness(kOptions);
    for (size_t i = 0; i < batches.size(); ++i) {
      harness.Process(batches[i]);
      if (i == stop) harness.Restart();
    }
    harness.Punctuate(PunctuationType::kEndOfInput);
    EXPECT_EQ(Difference(Sorted(harness.forwarded()), Sorted(undisturbed.forwarded())), "")
        << "stopped after record " << stop;
    harness.ExpectBooksClosed();
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, SummarizeReplayTest, testing::Values(0u, 3u),
                         [](const auto& window) {
                           return window.param == 0 ? "OfTime" : "OfSteps";
                         });

}  // namespace
}  // namespace eroica
