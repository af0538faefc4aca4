#include "stream_ops/summarize/summarize_processor.h"

#include <gtest/gtest.h>

#include "schemas/testing/not_empty.h"
#include "state_store/key_schema.h"
#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

TEST(SummarizeProcessor, AWindowOfTimeClosesWhenTheWatermarkHasPassedIt) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0).Ran("load", 1 * kSecond, 4 * kSecond).Build());
  harness.Process(
      EventBatchBuilder(0, 1).Ran("step", 9 * kSecond, 14 * kSecond + 999'999'999).Build());
  EXPECT_TRUE(harness.forwarded().empty()) << "latest event less 5 s is still before 10 s";
  harness.Process(EventBatchBuilder(0, 2).Ran("step", 15 * kSecond, 15 * kSecond).Build());
  const PatternBatch window = harness.Patterns(0, 0);
  EXPECT_EQ(window.window, (Window{WindowKind::kTime, 0, 0, 10 * kSecond, -1, -1}));
  EXPECT_EQ(window.completeness.events, 2u);
  EXPECT_FALSE(window.final);
  EXPECT_DOUBLE_EQ(FindPattern(window, "load")->beta, 0.3);
  EXPECT_EQ(FindPattern(window, "step")->critical_ns, 1 * kSecond) << "cut at the boundary";
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(FindPattern(harness.Patterns(0, 1), "step")->critical_ns, 4'999'999'999)
      << "and the rest on the other side";
  EXPECT_TRUE(harness.Patterns(0, 1).final);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, AnIntervalMaySpanManyWindows) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0).Reduced(0, 5 * kSecond, 38 * kSecond).Final().Build());
  ASSERT_EQ(harness.patterns().size(), 4u);
  EXPECT_EQ(FindPattern(harness.Patterns(0, 2), "all_reduce")->beta, 1.0);
  EXPECT_FALSE(harness.Patterns(0, 2).final);
  EXPECT_TRUE(harness.Patterns(0, 3).final);
  const auto collectives = harness.collectives();
  ASSERT_EQ(collectives.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(collectives[i].records.empty());
  ASSERT_EQ(collectives[3].records.size(), 1u) << "counts where it ends";
  EXPECT_EQ(collectives[3].records[0].duration_ns, 33 * kSecond);
  EXPECT_EQ(harness.processor().probe().events_used, 1u);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, AnAbsurdlyLongIntervalIsCut) {
  SummarizeHarness harness;
  harness.Process(
      EventBatchBuilder(0, 0).Ran("clock gone mad", 5, int64_t{1} << 61).Final().Build());
  EXPECT_LE(harness.patterns().size(), static_cast<size_t>(RankWindows::kMostWindowsSpanned + 1));
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, ConnectionsAddUpByPeerInTheWindowInWhichTheirStretchEnds) {
  SummarizeHarness harness;
  EventBatch batch = EventBatchBuilder(0, 0).Ran("step", 1 * kSecond, 14 * kSecond).Final().Build();
  const auto sample = [](int64_t time_ns, uint32_t peer, Resource resource, uint64_t bytes) {
    return ConnectionSample{.time_ns = time_ns,
                            .peer = peer,
                            .resource = resource,
                            .bytes = bytes,
                            .busy_ns = 10,
                            .retransmits = 1};
  };
  batch.connections = {
      sample(2 * kSecond, 1, Resource::kNic, 100), sample(3 * kSecond, 1, Resource::kNic, 200),
      sample(3 * kSecond, 1, Resource::kNvlink, 5), sample(10 * kSecond, 1, Resource::kNic, 7)};
  harness.Process(batch);
  EXPECT_EQ(
      harness.Patterns(0, 0).connections,
      (std::vector<ConnectionPattern>{
          {.peer = 1, .resource = Resource::kNvlink, .bytes = 5, .busy_ns = 10, .retransmits = 1},
          {.peer = 1, .resource = Resource::kNic, .bytes = 300, .busy_ns = 20, .retransmits = 2}}));
  EXPECT_EQ(
      harness.Patterns(0, 1).connections,
      (std::vector<ConnectionPattern>{
          {.peer = 1, .resource = Resource::kNic, .bytes = 7, .busy_ns = 10, .retransmits = 1}}));
}

// How the rank fares is told beside the functions and changes nothing of what they are measured by.
TEST(SummarizeProcessor, LevelsOfAWindowLeaveFunctionsAsTheyAre) {
  const auto patterns = [](bool host) {
    SummarizeHarness harness;
    EventBatchBuilder batch(0, 0);
    batch.Ran("step", 1 * kSecond, 14 * kSecond).Final();
    batch.Sampled(Resource::kCpu, 2 * kSecond, 0.2f);
    if (host)
      batch.Sampled(Resource::kCpuWait, 3 * kSecond, 1).Sampled(Resource::kHostNic, 3 * kSecond, 1);
    batch.Sampled(Resource::kCpu, 4 * kSecond, 0.4f);
    if (host) batch.Sampled(Resource::kCpuWait, 12 * kSecond, 0);
    harness.Process(batch.Build());
    return std::pair(harness.Patterns(0, 0), harness.Patterns(0, 1));
  };
  const auto [first, second] = patterns(true);
  const auto [first_without, second_without] = patterns(false);
  ASSERT_EQ(first.levels.size(), 3u);
  EXPECT_EQ(first.levels[0], first_without.levels[0]);
  EXPECT_EQ(first.levels[0].resource, Resource::kCpu);
  EXPECT_EQ(first.levels[0].samples, 2u);
  EXPECT_NEAR(first.levels[0].mean, 0.3, 1e-5);
  EXPECT_NEAR(first.levels[0].max, 0.4, 1e-5);
  EXPECT_EQ(first.levels[1], (ResourceLevel{Resource::kCpuWait, 1, 1, 1}));
  EXPECT_EQ(second.levels, (std::vector<ResourceLevel>{{Resource::kCpuWait, 0, 0, 1}}));
  EXPECT_EQ(first.patterns, first_without.patterns);
  EXPECT_EQ(second.patterns, second_without.patterns);
  EXPECT_EQ(first.patterns.at(0).resource, Resource::kCpu);
}

TEST(SummarizeProcessor, ConnectionsOfSeveralCommunicatorsStayApart) {
  SummarizeHarness harness;
  EventBatch batch = EventBatchBuilder(0, 0)
                         .Ran("step", 1 * kSecond, 5 * kSecond)
                         .Reduced(0, 1 * kSecond, 2 * kSecond)
                         .Final()
                         .Build();
  const CommId communicator = batch.communicators.at(0).id;
  const auto sample = [](uint32_t number, uint8_t channels, uint64_t bytes) {
    return ConnectionSample{.time_ns = 3 * kSecond,
                            .peer = 1,
                            .bytes = bytes,
                            .busy_ns = 10,
                            .channels = channels,
                            .communicator = number};
  };
  batch.connections = {sample(0, 0, 1), sample(1, 2, 20), sample(1, 4, 30)};
  harness.Process(batch);
  EXPECT_EQ(
      harness.Patterns(0, 0).connections,
      (std::vector<ConnectionPattern>{
          {.peer = 1, .bytes = 1, .busy_ns = 10},
          {.peer = 1, .bytes = 50, .busy_ns = 20, .channels = 4, .communicator = communicator}}));
}

EventBatch Steps(uint64_t sequence, int64_t first, int64_t last, uint32_t window_steps = 2,
                 uint32_t window_offset = 0) {
  EventBatchBuilder batch(0, sequence, window_steps, window_offset);
  for (int64_t step = first; step <= last; ++step) {
    const int64_t begin = step * kSecond;
    batch.Ran("step", begin, begin + kSecond / 2)
        .Ran("between", begin + 900'000'000, begin + 950'000'000);
    batch.Marked(kBegin, step, begin).Marked(kEnd, step, begin + 800'000'000);
  }
  return batch.Build();
}

TEST(SummarizeProcessor, WindowsOfStepsHoldWhatStartsInTheirSteps) {
  SummarizeHarness harness({.out_of_orderness_ns = kSecond / 10});
  harness.Process(Steps(0, 3, 7));
  const PatternBatch first = harness.Patterns(0, 1);  // step 3 alone
  EXPECT_EQ(first.window,
            (Window{WindowKind::kSteps, 1, 3 * kSecond, 3 * kSecond + 800'000'000, 3, 3}));
  EXPECT_EQ(first.completeness.outside, 1u);
  const PatternBatch second = harness.Patterns(0, 2);
  EXPECT_EQ(second.window,
            (Window{WindowKind::kSteps, 2, 4 * kSecond, 5 * kSecond + 800'000'000, 4, 5}));
  EXPECT_EQ(second.completeness.outside, 2u);
  EXPECT_EQ(second.completeness.events, 2u);
  ASSERT_EQ(second.steps.size(), 2u);
  EXPECT_EQ(second.steps[1], (StepRecord{5, 800'000'000, 0}));
  EXPECT_EQ(FindPattern(second, "step")->active_steps, 2u);
  EXPECT_EQ(FindPattern(second, "between"), nullptr);
  EXPECT_EQ(harness.patterns().size(), 2u) << "steps 6 and 7 wait for an 8";
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(harness.Patterns(0, 3).window.end_ns, 7 * kSecond + 800'000'000);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, WindowsOfStepsBeginAtTheirOffset) {
  SummarizeHarness harness;
  harness.Process(Steps(0, 0, 8, 3, 2));  // 0 1 | 2 3 4 | 5 6 7 | 8
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.patterns().size(), 4u);
  const std::vector<std::pair<int64_t, int64_t>> steps = {{0, 1}, {2, 4}, {5, 7}, {8, 8}};
  for (int64_t index = 0; index < 4; ++index) {
    const Window window = harness.Patterns(0, index).window;
    EXPECT_EQ(std::pair(window.first_step, window.last_step), steps[static_cast<size_t>(index)]);
  }
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, AStepWithoutAnEndLastsUntilTheNextOrTheLastEvent) {
  SummarizeHarness harness;
  EventBatchBuilder batch(0, 0, 1);
  batch.Ran("a", 10, 20).Ran("b", 110, 120).Ran("b", 150, 190);
  harness.Process(batch.Marked(kBegin, 0, 0).Marked(kBegin, 1, 100).Final().Build());
  EXPECT_EQ(harness.Patterns(0, 0).window.end_ns, 100);
  EXPECT_EQ(harness.Patterns(0, 1).window.end_ns, 190);
  EXPECT_EQ(harness.Patterns(0, 1).steps[0].duration_ns, 90);
}

// A recording with a torn tail, a producer that died: how long its last step took is not known, and
// its record would look like a slow step.
TEST(SummarizeProcessor, AStepThatWasCutIsNone) {
  SummarizeHarness harness;
  EventBatchBuilder batch(0, 0, 2);
  batch.Ran("a", 10, 20).Ran("main", 12, 1'000).Ran("b", 110, 120);
  harness.Process(batch.Marked(kBegin, 0, 0).Marked(kEnd, 0, 90).Marked(kBegin, 1, 100).Build());
  harness.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_EQ(harness.Patterns(0, 0).steps.size(), 1u);
  EXPECT_EQ(harness.Patterns(0, 0).steps[0], (StepRecord{0, 90, 0}));
  EXPECT_EQ(harness.Patterns(0, 0).completeness.outside, 1u);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, LateEventsAreCountedInTheNextWindow) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0).Ran("a", 0, kSecond).Build());
  harness.Process(EventBatchBuilder(0, 1).Ran("a", 15 * kSecond, 15 * kSecond).Build());
  ASSERT_EQ(harness.patterns().size(), 1u);
  harness.Process(EventBatchBuilder(0, 2)
                      .Ran("late", 2 * kSecond, 3 * kSecond)
                      .Ran("partly", 8 * kSecond, 12 * kSecond)
                      .Build());
  harness.Punctuate(PunctuationType::kEndOfInput);
  const PatternBatch second = harness.Patterns(0, 1);
  EXPECT_EQ(second.completeness.late, 1u);
  EXPECT_EQ(FindPattern(second, "partly")->total_ns, 2 * kSecond)
      << "the part in the open window is used";
  EXPECT_EQ(harness.processor().probe().events_late, 1u);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, DuplicatesAreDropped) {
  SummarizeHarness harness;
  const EventBatch batch = EventBatchBuilder(0, 0).Ran("a", 0, kSecond).Build();
  harness.Process(batch);
  harness.Process(batch);
  harness.Process(EventBatchBuilder(0, 1).Ran("a", 15 * kSecond, 15 * kSecond).Build());
  harness.Process(batch);  // its window is closed: still a duplicate, not late
  EXPECT_EQ(FindPattern(harness.Patterns(0, 0), "a")->count, 1u);
  EXPECT_EQ(harness.processor().probe().batches_duplicate, 2u);
  EXPECT_EQ(harness.processor().probe().events_late, 0u);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, WhatIsLostIsSaid) {
  SummarizeHarness harness;
  harness.Process(
      EventBatchBuilder(0, 0).Ran("a", 0, 1).Ran("a", 1, 2).Ran("a", 2, 3).Lost(10).Build());
  harness.Process(EventBatchBuilder(0, 3)
                      .Ran("a", 4, 5)
                      .Build());  // 1 and 2 are missing; a batch holds 2 events on average
  harness.Process(EventBatchBuilder(0, 4).Ran("a", 20 * kSecond, 20 * kSecond).Lost(5).Build());
  EXPECT_EQ(harness.Patterns(0, 0).completeness.lost, 10u + 2 * 2);
  harness.Process(EventBatchBuilder(0, 1).Ran("a", 6, 7).Build());  // not lost after all, but late
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(harness.Patterns(0, 2).completeness.lost, 5u);
  EXPECT_EQ(harness.Patterns(0, 2).completeness.late, 1u);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, ARankIsFinishedOnceNothingBeforeItsLastBatchIsMissing) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0).Ran("a", 0, kSecond).Build());
  harness.Process(EventBatchBuilder(0, 2).Ran("a", 2 * kSecond, 3 * kSecond).Final().Build());
  EXPECT_TRUE(harness.forwarded().empty());
  harness.Process(EventBatchBuilder(0, 1).Ran("a", kSecond, 2 * kSecond).Build());
  const PatternBatch window = harness.Patterns(0, 0);
  EXPECT_TRUE(window.final);
  EXPECT_EQ(FindPattern(window, "a")->count, 3u);
  EXPECT_EQ(harness.processor().RestartOffset(77), 77);
  harness.Process(EventBatchBuilder(0, 3).Ran("a", 100 * kSecond, 101 * kSecond).Build());
  EXPECT_EQ(harness.processor().probe().events_late, 1u) << "after its last batch";
  harness.ExpectBooksClosed();
}

EventBatch OfProcess(EventBatchBuilder builder, uint32_t pid, const std::string& host,
                     uint32_t world_size) {
  EventBatch batch = builder.Build();
  batch.identity.pid = pid;
  batch.identity.host = host;
  batch.identity.world_size = world_size;
  return batch;
}

// Whatever its last word was; and where batches of both processes wait for their windows, in either
// order.
TEST(SummarizeProcessor, WindowsAreOfTheProcessThatRanInThem) {
  for (const bool said_last_word : {false, true}) {
    for (const bool in_order : {true, false}) {
      EventBatchBuilder last(0, 1);
      last.Ran("a", 11 * kSecond, 12 * kSecond);
      const EventBatch before = OfProcess(said_last_word ? last.Final() : last, 7, "node-1", 4);
      const EventBatch after =
          OfProcess(EventBatchBuilder(0, 0).Ran("a", 20 * kSecond, 21 * kSecond), 8, "node-2", 3);
      SummarizeHarness harness;
      harness.Process(OfProcess(EventBatchBuilder(0, 0).Ran("a", 0, kSecond), 7, "node-1", 4));
      harness.Process(in_order ? before : after);
      harness.Restart();
      harness.Process(in_order ? after : before);
      harness.Restart();
      harness.Process(
          OfProcess(EventBatchBuilder(0, 1).Ran("a", 60 * kSecond, 61 * kSecond), 8, "node-2", 3));
      EXPECT_EQ(harness.Patterns(0, 0).host, "node-1");
      EXPECT_EQ(harness.Patterns(0, 1).host, "node-1");
      EXPECT_EQ(harness.Patterns(0, 1).pid, 7u);
      EXPECT_EQ(harness.Patterns(0, 1).world_size, 4u);
      EXPECT_EQ(harness.Patterns(0, 2).host, "node-2") << said_last_word << in_order;
      EXPECT_EQ(harness.Patterns(0, 2).pid, 8u);
      EXPECT_EQ(harness.Patterns(0, 2).world_size, 3u);
      EXPECT_EQ(FindPattern(harness.Patterns(0, 2), "a")->count, 1u);
    }
  }
}

TEST(SummarizeProcessor, RanksThatTheJobGoesOnWithoutAreNotSilent) {
  SummarizeHarness harness;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EventBatch batch =
        OfProcess(EventBatchBuilder(rank, 0).Reduced(1, 0, kSecond), 7 + rank, "host", 3);
    batch.communicators = {{CommId{7}, "default_pg", "", 3, {0, 1, 2}}};
    harness.Process(batch);
  }
  EventBatch anew =
      OfProcess(EventBatchBuilder(0, 0).Ran("a", 20 * kSecond, 21 * kSecond), 17, "host", 2);
  EventBatch left =
      OfProcess(EventBatchBuilder(0, 1).Ran("a", 9 * kSecond, 10 * kSecond), 7, "host", 3);
  left.connections = {
      {.time_ns = 22 * kSecond, .peer = 2, .bytes = 1}};  // what the process before says late
  harness.Process(anew);
  harness.Process(left);
  harness.Process(
      OfProcess(EventBatchBuilder(0, 1).Reported(25 * kSecond, -1, "a"), 17, "host", 2));
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_TRUE(harness.Patterns(1, 2).silent);
  EXPECT_EQ(harness.Patterns(1, 2).world_size, 3u) << "as its process said";
  for (const PatternBatch& window : NotEmpty(harness.patterns()))
    EXPECT_FALSE(window.rank == RankId{2} && window.silent);
  for (const CollectiveBatch& batch : NotEmpty(harness.collectives()))
    EXPECT_EQ(batch.world_size, 3u) << "the communicator has three members";
  ASSERT_EQ(harness.standings().size(), 1u);
  EXPECT_EQ(harness.standings()[0].world_size, 2u);
  EXPECT_TRUE(harness.standings()[0].communicators.empty());
}

TEST(SummarizeProcessor, IdleClosesWhatIsThereAndReportsSilence) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0).Ran("a", 0, kSecond).Build());
  harness.Process(EventBatchBuilder(1, 0).Ran("a", 0, kSecond).Build());
  harness.Process(EventBatchBuilder(0, 1).Ran("a", 22 * kSecond, 23 * kSecond).Build());
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_FALSE(harness.Patterns(0, 2).final) << "it may go on";
  EXPECT_FALSE(harness.Patterns(1, 0).silent);
  EXPECT_TRUE(harness.Patterns(1, 1).silent);
  EXPECT_TRUE(harness.Patterns(1, 2).silent);
  EXPECT_EQ(harness.processor().probe().windows_silent, 2u);
  const size_t before = harness.forwarded().size();
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_EQ(harness.forwarded().size(), before) << "said once";
  harness.Process(EventBatchBuilder(1, 1).Ran("a", 33 * kSecond, 34 * kSecond).Final().Build());
  EXPECT_FALSE(harness.Patterns(1, 3).silent);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, IdleInTheMiddleOfAStepKeepsTheRestOfItsWindowLate) {
  SummarizeHarness harness;
  harness.Process(Steps(0, 0, 0));
  harness.Punctuate(PunctuationType::kIdle);
  EXPECT_EQ(harness.Patterns(0, 0).window.last_step, 0);
  harness.Process(Steps(1, 1, 2));
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(harness.patterns().size(), 2u) << "the window of step 1 was closed";
  EXPECT_EQ(harness.Patterns(0, 1).window.first_step, 2);
  EXPECT_EQ(harness.processor().probe().events_late, 1u);
  harness.ExpectBooksClosed();
}

TEST(SummarizeProcessor, CollectivesGoToTheirCommunicatorsAlsoWhenThereAreNone) {
  SummarizeHarness harness({.out_of_orderness_ns = 0});
  EventBatchBuilder batch(0, 0, 1);
  batch.Ran("compute", 0, 60).Reduced(5, 60, 90);
  batch.Ran("compute", 100, 200);
  harness.Process(batch.Marked(kBegin, 0, 0)
                      .Marked(kEnd, 0, 95)
                      .Marked(kBegin, 1, 100)
                      .Marked(kEnd, 1, 200)
                      .Final()
                      .Build());
  const auto collectives = harness.collectives();
  ASSERT_EQ(collectives.size(), 2u);
  EXPECT_EQ(collectives[0].communicator.id, CommId{7});
  EXPECT_EQ(collectives[0].communicator.ranks, (std::vector<uint32_t>{0, 1}));
  ASSERT_EQ(collectives[0].records.size(), 1u);
  const CollectiveRecord& record = collectives[0].records[0];
  EXPECT_EQ(record.operation, CollectiveOperation::kAllReduce);
  EXPECT_EQ(record.sequence, 5u);
  EXPECT_EQ(record.step, 0);
  EXPECT_EQ(record.duration_ns, 30);
  EXPECT_EQ(record.exposed_ns, 30);
  EXPECT_EQ(record.gap_ns, 60);
  EXPECT_EQ(record.bytes, 64u);
  ASSERT_EQ(record.before, 1u);
  EXPECT_EQ(collectives[0].predecessors[0].name, "compute");
  EXPECT_EQ(record.before_ns, 60);
  EXPECT_FALSE(collectives[0].final);
  EXPECT_TRUE(collectives[1].records.empty());
  EXPECT_TRUE(collectives[1].final);
  EXPECT_EQ(harness.forwarded().back().key, CollectivesKey(JobId{"job"}, CommId{7}));
  EXPECT_EQ(harness.Patterns(0, 0).communicators, (std::vector<CommId>{CommId{7}}));
  EXPECT_EQ(FindPattern(harness.Patterns(0, 0), "all_reduce")->bytes, 64u);
}

TEST(SummarizeProcessor, AnOperationOfAnAsynchronousLaneTakesNothingFromTheRank) {
  for (const bool asynchronous : {false, true}) {
    SummarizeHarness harness({.out_of_orderness_ns = 0});
    EventBatchBuilder builder(0, 0, 1);
    builder.Ran("compute", 0, 100).Reduced(5, 20, 90);
    EventBatch batch = builder.Marked(kBegin, 0, 0).Marked(kEnd, 0, 100).Final().Build();
    batch.functions[batch.intervals.function[0]].function_class = FunctionClass::kPython;
    batch.lanes.push_back({"asynchronous", LaneKind::kAsynchronous});
    if (asynchronous) batch.intervals.lane[1] = 1;
    harness.Process(batch);
    const auto collectives = harness.collectives();
    ASSERT_FALSE(collectives.empty());
    ASSERT_EQ(collectives[0].records.size(), 1u);
    EXPECT_EQ(collectives[0].records[0].duration_ns, 70);
    EXPECT_EQ(collectives[0].records[0].exposed_ns, asynchronous ? 0 : 70);
    EXPECT_EQ(FindPattern(harness.Patterns(0, 0), "compute")->critical_ns, asynchronous ? 100 : 30);
    harness.ExpectBooksClosed();
  }
}

TEST(SummarizeProcessor, FewMembersOfALargeCommunicatorListIt) {
  SummarizeHarness harness({.out_of_orderness_ns = 0});
  for (const uint32_t rank : {0u, 1u}) {
    EventBatchBuilder builder(rank, 0, 1);
    builder.Reduced(5, 60, 90).Reduced(6, 160, 190);
    EventBatch batch = builder.Marked(kBegin, 0, 0)
                           .Marked(kEnd, 0, 95)
                           .Marked(kBegin, 1, 100)
                           .Marked(kEnd, 1, 200)
                           .Final()
                           .Build();
    batch.identity.world_size = 100;
    batch.communicators[0].size = 0;
    for (uint32_t member = 2; member < 100; ++member)
      batch.communicators[0].ranks.push_back(member);
    harness.Process(batch);
  }
  ASSERT_EQ(harness.collectives().size(), 4u);
  for (const CollectiveBatch& batch : harness.collectives()) {
    const bool lists = batch.window.index == static_cast<int64_t>(batch.rank.value);
    EXPECT_EQ(batch.communicator.ranks.size(), lists ? 100u : 0u)
        << batch.rank.value << " " << batch.window.index;
    EXPECT_EQ(batch.communicator.size, lists ? 0u : 100u);
    EXPECT_EQ(batch.communicator.name, "default_pg");
  }
}

TEST(SummarizeProcessor, SmallFunctionsAreFolded) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0)
                      .Ran("large", 0, kSecond)
                      .Ran("small", kSecond, kSecond + 1000)
                      .Final()
                      .Build());
  const PatternBatch sent = harness.Patterns(0, 0);
  EXPECT_EQ(FindPattern(sent, "small"), nullptr);
  EXPECT_EQ(sent.folded_functions, 1u);
  EXPECT_EQ(sent.folded_critical_ns[static_cast<size_t>(FunctionClass::kPython)], 1000);
}

TEST(SummarizeProcessor, SamplesBecomeMuAndSigma) {
  SummarizeHarness harness;
  EventBatchBuilder batch(0, 0);
  batch.Ran("busy", 0, 4 * kSecond);
  for (int64_t t = 0; t < 10; ++t)
    batch.Sampled(Resource::kCpu, t * kSecond, t < 2 ? 0.25f : 0.75f);
  harness.Process(batch.Final().Build());
  const PatternBatch window = harness.Patterns(0, 0);
  EXPECT_EQ(FindPattern(window, "busy")->resource, Resource::kCpu);
  EXPECT_EQ(FindPattern(window, "busy")->resource_samples, 4u);
  EXPECT_NEAR(FindPattern(window, "busy")->mu, 0.5, 1e-4);
  EXPECT_NEAR(FindPattern(window, "busy")->sigma, 0.25, 1e-4);
}

TEST(SummarizeProcessor, BadPayloadsGoToTheDeadLetterTopic) {
  SummarizeHarness harness;
  harness.ProcessBytes("");
  harness.ProcessBytes("no flat buffer at all");
  EXPECT_EQ(harness.dead_letters().size(), 2u);
  EXPECT_EQ(harness.processor().probe().batches_bad, 2u);
  harness.Process(EventBatchBuilder(0, 0).Ran("a", 0, kSecond).Final().Build());
  EXPECT_EQ(harness.patterns().size(), 1u) << "and stop nothing";
}

TEST(SummarizeProcessor, ACorruptStoreIsSaidAtTheStart) {
  SummarizeHarness harness;
  StateChanges changes;
  changes.Put(Table::kProgress, RankProgressKey(JobId{"job"}, RankId{0}), "nonsense");
  ASSERT_TRUE(const_cast<InMemoryStore&>(harness.stored()).Write(changes).ok());
  SummarizeProcessor processor({});
  EXPECT_FALSE(processor.Init(harness).ok());
}

}  // namespace
}  // namespace eroica
