#include "stream_ops/summarize/edge_summarizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two ranks, taking turns, each in order; samples whose values the wire rounds.
std::vector<EventBatch> Job(uint32_t window_steps) {
  std::vector<EventBatch> batches;
  for (uint64_t sequence = 0; sequence < 12; ++sequence) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      EventBatchBuilder batch(rank, sequence, window_steps);
      const auto step = static_cast<int64_t>(sequence);
      const int64_t now = (100 + step) * kSecond + rank * 1000;
      batch.Marked(MarkKind::kStepBegin, step, now);
      batch.Ran("forward", now, now + 600'000'000 + step);
      batch.Sampled(Resource::kCpu, now, 1.0f / 3).Sampled(Resource::kCpu, now + 300'000'000, 0.7f);
      batch.Sampled(Resource::kCpuWait, now + 300'000'000, 0.1f);
      batch.Reduced(sequence, now + 700'000'000, now + 900'000'000);
      batch.Marked(MarkKind::kStepEnd, step, now + 950'000'000);
      if (sequence == 5) batch.Lost(3);
      if (sequence == 11) batch.Final();
      batches.push_back(batch.Build());
    }
  }
  return batches;
}

struct Edge {
  std::vector<Forwarded> records;
  EdgeSummarizer summarizer;

  explicit Edge(const SummarizeOptions& options)
      : summarizer(options, [this](const EdgeRecord& record) {
          records.push_back(
              {record.topic,
               record.key,
               {reinterpret_cast<const char*>(record.payload.data()), record.payload.size()}});
          return absl::OkStatus();
        }) {}
};

class EdgeSummarizerWindows : public ::testing::TestWithParam<uint32_t> {};

TEST_P(EdgeSummarizerWindows, SaysWhatTheStageSays) {
  SummarizeHarness stage;
  Edge edge(EdgeSummarizer::InOrder());
  for (const EventBatch& batch : Job(GetParam())) {
    stage.Process(batch);
    ASSERT_TRUE(edge.summarizer.Add(batch).ok());
  }
  stage.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_TRUE(edge.summarizer.Finish().ok());
  std::vector<Forwarded> expected = stage.forwarded();
  ASSERT_THAT(expected, Not(IsEmpty()));
  std::sort(expected.begin(), expected.end());
  std::sort(edge.records.begin(), edge.records.end());
  EXPECT_TRUE(edge.records == expected)
      << edge.records.size() << " records, the stage says " << expected.size();
  EXPECT_EQ(edge.summarizer.events_held(), 0);
  EXPECT_EQ(edge.summarizer.probe().events_used, stage.processor().probe().events_used);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EdgeSummarizerWindows, ::testing::Values(0u, 1u, 4u),
                         [](const auto& kind) { return fmt::format("Of{}Steps", kind.param); });

TEST(EdgeSummarizer, InOrderHoldsNoMoreThanAWindow) {
  Edge edge(EdgeSummarizer::InOrder());
  uint64_t most = 0;
  for (const EventBatch& batch : Job(2)) {
    ASSERT_TRUE(edge.summarizer.Add(batch).ok());
    most = std::max(most, edge.summarizer.events_held());
  }
  // Two ranks, two steps of two events, and what begins the next window.
  EXPECT_LE(most, 2 * (2 * 2 + 2));
  EXPECT_EQ(edge.summarizer.probe().events_late, 0);
}

TEST(EdgeSummarizer, LeavesOutABatchThatBreaksItsInvariants) {
  Edge edge(EdgeSummarizer::InOrder());
  EventBatch batch = Job(1).front();
  batch.intervals.function[0] = 99;
  const absl::Status status = edge.summarizer.Add(batch);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("batch 0 of rank 0"));
  ASSERT_TRUE(edge.summarizer.Finish().ok());
  EXPECT_THAT(edge.records, IsEmpty());
}

TEST(EdgeSummarizer, PassesOnWhatTheTransportAnswers) {
  EdgeSummarizer summarizer(EdgeSummarizer::InOrder(), [](const EdgeRecord&) {
    return absl::UnavailableError("broker gone");
  });
  absl::Status status;
  for (const EventBatch& batch : Job(1)) {
    status = summarizer.Add(batch);
    if (!status.ok()) break;
  }
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_TRUE(summarizer.Finish().code() == absl::StatusCode::kUnavailable);
}

// CUPTI says half a second later what a kernel of the step before did.
TEST(EdgeSummarizerInProcess, WhatADeviceDidMayComeLater) {
  for (const bool host_only : {false, true}) {
    Edge edge(EdgeSummarizer::InProcess());
    const auto add = [&](EventBatchBuilder builder) {
      EventBatch batch = builder.Build();
      batch.identity.host_only = host_only;
      EXPECT_TRUE(edge.summarizer.Add(batch).ok());
    };
    add(EventBatchBuilder(0, 0, 1)
            .Marked(MarkKind::kStepBegin, 0, 10 * kSecond)
            .Marked(MarkKind::kStepEnd, 0, 11 * kSecond)
            .Marked(MarkKind::kStepBegin, 1, 11 * kSecond)
            .Ran("forward", 11 * kSecond, 11 * kSecond + 1));
    EXPECT_EQ(edge.records.empty(), !host_only);
    add(EventBatchBuilder(0, 1, 1).Ran("kernel", 10 * kSecond + 5, 10 * kSecond + 6,
                                       FunctionClass::kGpuCompute));
    EXPECT_EQ(edge.summarizer.probe().events_late, host_only ? 1u : 0u);
    add(EventBatchBuilder(0, 2, 1).Ran("forward", 13 * kSecond, 13 * kSecond + 1));
    EXPECT_FALSE(edge.records.empty());
  }
}

}  // namespace
}  // namespace eroica
