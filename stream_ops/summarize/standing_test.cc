// Where ranks stand: what becomes of reports of progress.
#include <gtest/gtest.h>

#include "stream_ops/summarize/standing_emitter.h"
#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

// Steps 0 and 1, each with an all-reduce, and the begin of step 2.
EventBatch TwoSteps() {
  return EventBatchBuilder(0, 0, 10)
      .Marked(kBegin, 0, 10 * kSecond)
      .Reduced(0, 11 * kSecond, 12 * kSecond)
      .Marked(kEnd, 0, 13 * kSecond)
      .Marked(kBegin, 1, 13 * kSecond)
      .Reduced(1, 14 * kSecond, 15 * kSecond)
      .Marked(kEnd, 1, 15 * kSecond)
      .Marked(kBegin, 2, 15 * kSecond)
      .Build();
}

TEST(Standing, SaysWhereTheRankStands) {
  SummarizeHarness harness;
  harness.Process(TwoSteps());
  harness.Process(
      EventBatchBuilder(0, 1, 10).Reported(18 * kSecond, 2, "backward", 2, 16 * kSecond).Build());
  EXPECT_TRUE(harness.standings().empty()) << "what ended before it may still come";
  harness.Process(
      EventBatchBuilder(0, 2, 10).Reported(23 * kSecond, 2, "backward", 2, 16 * kSecond).Build());
  ASSERT_EQ(harness.standings().size(), 1u);
  const RankStanding standing = harness.standings()[0];
  EXPECT_EQ(standing.job, JobId{"job"});
  EXPECT_EQ(standing.rank, RankId{0});
  EXPECT_EQ(standing.world_size, 2u);
  EXPECT_EQ(standing.host, "host");
  EXPECT_EQ(standing.time_ns, 18 * kSecond);
  EXPECT_EQ(standing.last_progress_ns, 16 * kSecond) << "the launch";
  EXPECT_EQ(standing.step, 2);
  EXPECT_EQ(standing.last_step, 1);
  EXPECT_EQ(standing.step_mean_ns, 5 * kSecond / 2);
  EXPECT_EQ(standing.window_kind, WindowKind::kSteps);
  EXPECT_EQ(standing.window_index, 0);
  EXPECT_EQ(standing.function, "backward");
  ASSERT_EQ(standing.communicators.size(), 1u);
  EXPECT_EQ(standing.communicators[0].ranks, (std::vector<uint32_t>{0, 1}));
  ASSERT_EQ(standing.in_flight.size(), 1u);
  EXPECT_EQ(standing.in_flight[0].sequence, 2u);
  ASSERT_EQ(standing.operations.size(), 1u);
  EXPECT_EQ(standing.operations[0].operation, CollectiveOperation::kAllReduce);
  EXPECT_EQ(standing.operations[0].completed, 2u);
  EXPECT_EQ(standing.operations[0].launched, 3u);
  EXPECT_TRUE(harness.patterns().empty()) << "no window is closed by it";
}

TEST(Standing, ConnectionsOfAReportSpeakOfTheStandstillAndOfNoWindow) {
  SummarizeHarness harness;
  harness.Process(TwoSteps());
  EventBatch batch = EventBatchBuilder(0, 1, 10)
                         .Reported(18 * kSecond, 2, "backward", 2, 16 * kSecond)
                         .Final()
                         .Build();
  batch.connections = {{.time_ns = 18 * kSecond,
                        .peer = 1,
                        .resource = Resource::kNic,
                        .bytes = 0,
                        .busy_ns = kSecond}};
  harness.Process(batch);
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.standings().size(), 1u);
  EXPECT_EQ(harness.standings()[0].connections, batch.connections);
  ASSERT_FALSE(harness.patterns().empty());
  for (const PatternBatch& patterns : harness.patterns()) EXPECT_TRUE(patterns.connections.empty());
}

TEST(Standing, EndsOfCollectivesAndStepsAreProgress) {
  SummarizeHarness harness;
  harness.Process(TwoSteps());
  harness.Process(EventBatchBuilder(0, 1, 10).Reported(18 * kSecond, 2, "load").Final().Build());
  ASSERT_EQ(harness.standings().size(), 1u);
  EXPECT_EQ(harness.standings()[0].last_progress_ns, 15 * kSecond);
  EXPECT_TRUE(harness.standings()[0].in_flight.empty());
}

// Whatever is known of what comes after the report is not part of it.
TEST(Standing, IsOfTheMomentOfItsReport) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 1, 10)
                      .Reported(14 * kSecond + kSecond / 2, 1, "backward", 1, 14 * kSecond)
                      .Build());
  harness.Process(TwoSteps());
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.standings().size(), 1u);
  EXPECT_EQ(harness.standings()[0].operations[0].completed, 1u);
  EXPECT_EQ(harness.standings()[0].last_step, 0);
  EXPECT_EQ(harness.standings()[0].last_progress_ns, 14 * kSecond);
}

TEST(Standing, OneASecondIsEnough) {
  SummarizeHarness harness;
  EventBatchBuilder batch(0, 0, 10);
  for (int i = 0; i < 40; ++i) batch.Reported(10 * kSecond + i * kSecond / 10, 2, "backward");
  harness.Process(batch.Final().Build());
  EXPECT_EQ(harness.standings().size(), 5u);
  EXPECT_EQ(harness.processor().probe().reports_received, 40u);
  EXPECT_EQ(harness.processor().probe().reports_left_out, 35u);
  EXPECT_EQ(harness.processor().probe().standings_sent, 5u);
}

TEST(Standing, LateReportsAreLeftOut) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 1).Reported(20 * kSecond, 2, "f").Build());
  harness.Process(EventBatchBuilder(0, 2).Reported(30 * kSecond, 2, "f").Build());
  harness.Process(EventBatchBuilder(0, 0).Reported(10 * kSecond, 2, "f").Build());
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.standings().size(), 2u);
  EXPECT_EQ(harness.standings()[0].time_ns, 20 * kSecond);
  EXPECT_EQ(harness.processor().probe().reports_left_out, 1u);
}

TEST(Standing, ReportsCloseNoWindow) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0).Ran("step", 5 * kSecond, 6 * kSecond).Build());
  harness.Process(EventBatchBuilder(0, 1).Reported(100 * kSecond, -1, "step").Build());
  EXPECT_TRUE(harness.patterns().empty());
  harness.Process(EventBatchBuilder(0, 2).Reported(106 * kSecond, -1, "step").Build());
  EXPECT_TRUE(harness.patterns().empty());
  ASSERT_EQ(harness.standings().size(), 1u);
  EXPECT_EQ(harness.standings()[0].window_index, 10);
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(harness.patterns().size(), 1u);
  harness.ExpectBooksClosed();
}

TEST(Standing, PausesAreKnownByTheirMarks) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0)
                      .Marked(MarkKind::kCheckpointBegin, 0, 10 * kSecond)
                      .Marked(MarkKind::kCheckpointEnd, 0, 40 * kSecond)
                      .Marked(MarkKind::kEvaluationBegin, 0, 50 * kSecond)
                      .Reported(5 * kSecond, 2, "train")
                      .Reported(20 * kSecond, 2, "save")
                      .Reported(45 * kSecond, 2, "train")
                      .Reported(60 * kSecond, 2, "evaluate")
                      .Final()
                      .Build());
  ASSERT_EQ(harness.standings().size(), 4u);
  EXPECT_EQ(harness.standings()[0].pause, Pause::kNone);
  EXPECT_EQ(harness.standings()[1].pause, Pause::kCheckpoint);
  EXPECT_EQ(harness.standings()[1].last_progress_ns, 10 * kSecond);
  EXPECT_EQ(harness.standings()[2].pause, Pause::kNone);
  EXPECT_EQ(harness.standings()[3].pause, Pause::kEvaluation);
}

// A watchdog's dump: nothing but what is in flight and what the framework counted.
TEST(Standing, OfADumpAlone) {
  EventBatch batch =
      EventBatchBuilder(1, 0, 10).Reported(20 * kSecond, -1, "f", 41, 10 * kSecond).Final().Build();
  batch.progress[0].timed_out = true;
  batch.progress[0].collectives_suspended = true;
  batch.progress[0].starts_unknown = true;
  batch.progress[0].moment_unknown = true;
  batch.progress[0].in_flight.front().side = 2;
  batch.progress[0].operations = {
      {.operation = CollectiveOperation::kUnknown, .launched = 43, .completed = 40},
      {.operation = CollectiveOperation::kAllReduce, .launched = 41, .completed = 30}};
  SummarizeHarness harness;
  harness.Process(batch);
  ASSERT_EQ(harness.standings().size(), 1u);
  const RankStanding standing = harness.standings()[0];
  EXPECT_TRUE(standing.timed_out);
  EXPECT_TRUE(standing.collectives_suspended);
  EXPECT_TRUE(standing.starts_unknown);
  EXPECT_TRUE(standing.moment_unknown);
  EXPECT_EQ(standing.in_flight.front().side, 2);
  EXPECT_EQ(standing.stalled_ns(), 10 * kSecond);
  EXPECT_EQ(standing.window_index, 0);
  ASSERT_EQ(standing.operations.size(), 2u);
  EXPECT_EQ(standing.operations[0].launched, 43u);
  EXPECT_EQ(standing.operations[1].launched, 42u)
      << "what is in flight was launched, whatever the count says";
  EXPECT_EQ(standing.operations[1].completed, 30u);
  EXPECT_TRUE(harness.patterns().empty());
}

TEST(Standing, FewMembersOfALargeCommunicatorListIt) {
  for (const uint32_t rank : {0u, 1u, 63u, 64u, 199u}) {
    EventBatch batch =
        EventBatchBuilder(rank, 0).Reported(20 * kSecond, -1, "f", 1, 10 * kSecond).Final().Build();
    batch.identity.world_size = 200;
    batch.communicators[0].ranks.clear();
    for (uint32_t member = 0; member < 200; ++member)
      batch.communicators[0].ranks.push_back(member);
    SummarizeHarness harness;
    harness.Process(batch);
    ASSERT_EQ(harness.standings().size(), 1u);
    EXPECT_EQ(harness.standings()[0].communicators[0].ranks.size(),
              rank % StandingEmitter::kListedBy == 0 ? 200u : 0u)
        << rank;
  }
}

TEST(Standing, AfterARestartNoneIsSentAgainAndNoneIsLost) {
  SummarizeHarness harness;
  harness.Process(TwoSteps());
  for (int i = 1; i <= 20; ++i) {
    harness.Process(EventBatchBuilder(0, static_cast<uint64_t>(i), 10)
                        .Reported((15 + i) * kSecond, 2, "backward", 2, 15 * kSecond)
                        .Build());
    harness.Restart();
  }
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.standings().size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(harness.standings()[i].time_ns, static_cast<int64_t>(16 + i) * kSecond);
    EXPECT_EQ(harness.standings()[i].operations[0].completed, 2u);
    EXPECT_EQ(harness.standings()[i].step_mean_ns, 5 * kSecond / 2);
  }
}

TEST(Standing, TheMeanIsOfRecentSteps) {
  RankAdvance advance;
  for (int64_t step = 0; step < 1000; ++step)
    advance.EndStep({step, step * kSecond, step * kSecond + (step < 500 ? 100 : 10)});
  EXPECT_EQ(advance.step_mean_ns(), 10);
  EXPECT_EQ(advance.last_step, 999);
}

}  // namespace
}  // namespace eroica
