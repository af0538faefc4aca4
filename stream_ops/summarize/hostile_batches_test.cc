// Batches that pass verification, of which the output would break a limit: what is too much is left
// out and counted, and the stage goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "schemas/time_unit.h"
#include "stream_ops/summarize/summarize_harness.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;

// Of as many members as are given, ranks from 0 on.
Communicator OfRanks(uint64_t id, uint32_t members) {
  Communicator communicator{.id = CommId{id}, .name = "", .description = "", .ranks = {}};
  communicator.ranks.resize(members);
  std::iota(communicator.ranks.begin(), communicator.ranks.end(), 0);
  return communicator;
}

// The stage has said everything that it has to say, all of it within the rules.
void ExpectAllSent(SummarizeHarness& harness) {
  harness.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_THAT(harness.outputs_dropped(), IsEmpty());
  EXPECT_THAT(harness.dead_letters(), IsEmpty());
  harness.ExpectBooksClosed();
}

TEST(HostileBatches, MoreCommunicatorsThanARankMayHave) {
  SummarizeHarness harness;
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    EventBatch batch = EventBatchBuilder(0, sequence).Ran("f", kSecond, 2 * kSecond).Build();
    for (uint64_t i = 0; i < CodecLimits::kCommunicators; ++i)
      batch.communicators.push_back(OfRanks(1 + i + sequence * CodecLimits::kCommunicators, 2));
    batch.functions.push_back({.name = "r", .function_class = FunctionClass::kCollective});
    batch.intervals.push_back(3 * kSecond, kSecond, 1, 0);
    batch.collectives = {{.interval = 1, .operation = CollectiveOperation::kAllReduce}};
    harness.Process(batch);
  }
  ExpectAllSent(harness);
  const PatternBatch patterns = harness.Patterns(0, 0);
  EXPECT_EQ(patterns.communicators.size(), CodecLimits::kCommunicators);
  EXPECT_EQ(patterns.completeness.lost, 1u) << "the second all-reduce";
  const SummarizeProbe& probe = harness.processor().probe();
  EXPECT_EQ(probe.communicators_left_out, CodecLimits::kCommunicators);
  EXPECT_EQ(probe.collectives_left_out, 1u);
}

TEST(HostileBatches, MoreStepsThanAWindowMayHave) {
  SummarizeHarness harness;
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    EventBatchBuilder builder(0, sequence);
    builder.Ran("f", kSecond, 2 * kSecond);
    const auto first = static_cast<int64_t>(sequence * CodecLimits::kIntervals);
    for (int64_t step = first; step < first + CodecLimits::kIntervals; ++step)
      builder.Marked(MarkKind::kStepBegin, step, kSecond + step * 100'000);
    harness.Process(builder.Build());
  }
  ExpectAllSent(harness);
  const PatternBatch patterns = harness.Patterns(0, 0);
  EXPECT_EQ(patterns.steps.size(), CodecLimits::kPatterns);
  const uint64_t left_out = harness.processor().probe().steps_left_out;
  EXPECT_GT(left_out, 0u);
  EXPECT_EQ(patterns.completeness.lost, left_out);
}

// 1,000 functions, each with 17 callers of the longest name, before a collective each.
TEST(HostileBatches, PredecessorsWhoseStacksAreLargerThanAPayload) {
  constexpr uint32_t kCallers = 17;
  constexpr uint32_t kCollectives = 1'000;
  EventBatch batch = EventBatchBuilder(0, 0).Build();
  batch.communicators = {OfRanks(7, 2)};
  const std::string padding(CodecLimits::kNameBytes - 4, 'n');
  const auto name = [&](uint32_t i) { return std::to_string(1'000 + i % 9'000) + padding; };
  for (uint32_t i = 0; i < kCallers + kCollectives; ++i) {
    const uint32_t caller = std::min(i, kCallers) - 1;
    batch.functions.push_back({.name = name(i),
                               .function_class = FunctionClass::kPython,
                               .parent = i == 0 ? kNoParent : caller});
  }
  const auto all_reduce = static_cast<uint32_t>(batch.functions.size());
  batch.functions.push_back({.name = "r", .function_class = FunctionClass::kCollective});
  for (uint32_t i = 0; i < kCollectives; ++i) {
    const int64_t start_ns = (1 + i * 3) * kNsPerMs;
    batch.intervals.push_back(start_ns, kNsPerMs, kCallers + i, 0);
    batch.collectives.push_back({.interval = static_cast<uint32_t>(batch.intervals.size()),
                                 .operation = CollectiveOperation::kAllReduce,
                                 .sequence = i});
    batch.intervals.push_back(start_ns + 2 * kNsPerMs, kNsPerMs / 2, all_reduce, 0);
  }
  SummarizeHarness harness;
  harness.Process(batch);
  ExpectAllSent(harness);
  ASSERT_EQ(harness.collectives().size(), 1u);
  const CollectiveBatch collectives = harness.collectives()[0];
  ASSERT_EQ(collectives.records.size(), kCollectives);
  EXPECT_GT(collectives.predecessors.size(), 0u);
  const auto without = std::ranges::count(collectives.records, 0u, &CollectiveRecord::before);
  EXPECT_EQ(collectives.predecessors.size() + static_cast<size_t>(without), kCollectives);
  EXPECT_EQ(harness.processor().probe().predecessors_left_out, static_cast<uint64_t>(without));
  EXPECT_EQ(collectives.records.back().before_ns, 0) << "of nobody knows whom";
}

TEST(HostileBatches, AConnectionOfACommunicatorThatComesBehindTheLastStep) {
  SummarizeHarness harness;
  const auto step = [](uint64_t sequence, int64_t id, int64_t begin_ns) {
    return EventBatchBuilder(0, sequence, 1)
        .Ran("f", begin_ns, begin_ns + kSecond)
        .Marked(MarkKind::kStepBegin, id, begin_ns)
        .Marked(MarkKind::kStepEnd, id, begin_ns + kSecond)
        .Build();
  };
  harness.Process(step(0, 0, kSecond));
  EventBatch between = EventBatchBuilder(0, 1, 1).Build();
  between.communicators = {OfRanks(7, 2)};
  between.connections = {{.time_ns = 4 * kSecond, .peer = 1, .bytes = 5, .communicator = 1}};
  harness.Process(between);
  harness.Process(step(2, 1, 9 * kSecond));
  ExpectAllSent(harness);
  EXPECT_THAT(harness.Patterns(0, 0).communicators, IsEmpty());
  EXPECT_EQ(harness.Patterns(0, 0).connections,
            (std::vector<ConnectionPattern>{
                {.peer = 1, .resource = Resource::kNic, .bytes = 5, .communicator = CommId{}}}));
  EXPECT_EQ(harness.Patterns(0, 1).communicators, std::vector<CommId>{CommId{7}});
}

TEST(HostileBatches, MoreKindsOfOperationsThanAStandingMayHave) {
  SummarizeHarness harness;
  EventBatch batch = EventBatchBuilder(0, 0).Reported(9 * kSecond, 3, "f").Final().Build();
  batch.identity.world_size = CodecLimits::kIntervals;
  batch.communicators = {OfRanks(7, 0), OfRanks(8, 0)};
  for (uint32_t peer = 0; peer < CodecLimits::kIntervals; ++peer) {
    batch.progress[0].operations.push_back({.communicator = 0,
                                            .operation = CollectiveOperation::kSend,
                                            .peer = static_cast<int32_t>(peer),
                                            .launched = 1});
  }
  batch.progress[0].in_flight = {{.communicator = 1,
                                  .operation = CollectiveOperation::kAllReduce,
                                  .sequence = 5,
                                  .launched_ns = 8 * kSecond}};
  harness.Process(batch);
  ExpectAllSent(harness);
  ASSERT_EQ(harness.standings().size(), 1u);
  const RankStanding standing = harness.standings()[0];
  EXPECT_EQ(standing.operations.size(), CodecLimits::kIntervals);
  EXPECT_EQ(standing.operations.back().communicator, 1) << "what is in flight comes first";
  EXPECT_EQ(harness.processor().probe().operations_left_out, 1u);
}

TEST(HostileBatches, ListsOfMembersThatAreLargerThanAStandingTogether) {
  SummarizeHarness harness;
  EventBatch batch = EventBatchBuilder(0, 0).Reported(9 * kSecond, 3, "f").Final().Build();
  batch.identity.world_size = CodecLimits::kRanks;
  batch.communicators = {OfRanks(7, CodecLimits::kRanks), OfRanks(8, 4)};
  harness.Process(batch);
  ExpectAllSent(harness);
  ASSERT_EQ(harness.standings().size(), 1u);
  const std::vector<Communicator> communicators = harness.standings()[0].communicators;
  ASSERT_EQ(communicators.size(), 2u);
  EXPECT_EQ(communicators[0].ranks.size(), CodecLimits::kRanks);
  EXPECT_THAT(communicators[1].ranks, IsEmpty());
  EXPECT_EQ(harness.processor().probe().lists_left_out, 1u);
}

TEST(HostileBatches, AReportBehindTheLastStepThatThereCanBe) {
  SummarizeHarness harness;
  harness.Process(EventBatchBuilder(0, 0, 1)
                      .Ran("f", kSecond, 2 * kSecond)
                      .Marked(MarkKind::kStepBegin, CodecLimits::kMaxTimeNs, kSecond)
                      .Marked(MarkKind::kStepEnd, CodecLimits::kMaxTimeNs, 2 * kSecond)
                      .Build());
  harness.Punctuate(PunctuationType::kIdle);
  harness.Process(EventBatchBuilder(0, 1, 1).Reported(9 * kSecond, -1, "f").Build());
  ExpectAllSent(harness);
  ASSERT_EQ(harness.standings().size(), 1u);
  EXPECT_EQ(harness.standings()[0].window_index, CodecLimits::kMaxTimeNs);
}

// Windows of other sizes count differently: there is none behind that of the other rank.
TEST(HostileBatches, ASilentRankIsLeftBehindBeyondAllOfItsWindows) {
  SummarizeHarness harness;
  constexpr uint32_t kLargeWindows = 0xffff'ffff;
  harness.Process(EventBatchBuilder(1, 0, kLargeWindows).Ran("f", kSecond, 2 * kSecond).Build());
  harness.Process(EventBatchBuilder(0, 0, 1)
                      .Ran("f", kSecond, 2 * kSecond)
                      .Marked(MarkKind::kStepBegin, CodecLimits::kMaxTimeNs, kSecond)
                      .Marked(MarkKind::kStepEnd, CodecLimits::kMaxTimeNs, 2 * kSecond)
                      .Build());
  harness.Punctuate(PunctuationType::kIdle);
  const size_t silent = harness.processor().probe().windows_silent;
  EXPECT_GT(silent, 0u);
  harness.Process(EventBatchBuilder(1, 1, kLargeWindows)
                      .Ran("f", 5 * kSecond, 6 * kSecond)
                      .Marked(MarkKind::kStepBegin, 5, 5 * kSecond)
                      .Marked(MarkKind::kStepEnd, 5, 6 * kSecond)
                      .Build());
  const size_t before = harness.patterns().size();
  ExpectAllSent(harness);
  EXPECT_EQ(harness.patterns().size(), before) << "its windows are closed";
}

// 500 functions with long names, 2 MB of patterns in each window.
EventBatchBuilder LongNamesOver(size_t windows) {
  EventBatchBuilder builder(0, 0);
  for (int i = 0; i < 500; ++i) {
    builder.Ran(std::to_string(i) + std::string(CodecLimits::kNameBytes - 4, 'n'), 0,
                static_cast<int64_t>(windows) * 10 * kSecond);
  }
  return builder;
}

// 120 MB of patterns.
TEST(HostileBatches, WhatOneBatchSaysOfItsWindowsIsNotHeldAtOnce) {
  constexpr size_t kWindows = 60;
  SummarizeHarness harness({.out_of_orderness_ns = 0});
  harness.Process(LongNamesOver(kWindows).Build());
  const size_t at_first = harness.patterns().size();
  EXPECT_GT(at_first, 1u);
  EXPECT_LT(at_first, kWindows);
  size_t before = at_first;
  for (uint64_t sequence = 1; before < kWindows && sequence < kWindows; ++sequence) {
    harness.Process(EventBatchBuilder(0, sequence)
                        .Ran("f", kWindows * 10 * kSecond, kWindows * 10 * kSecond + 1)
                        .Build());
    EXPECT_GT(harness.patterns().size(), before);
    before = harness.patterns().size();
  }
  harness.Restart();
  ExpectAllSent(harness);
  for (int64_t index = 0; index <= static_cast<int64_t>(kWindows); ++index)
    harness.Patterns(0, index);
}

// The same of a rank that has said its last word.
TEST(HostileBatches, ARankIsFinishedWhenItsLastWindowIsClosed) {
  constexpr size_t kWindows = 120;
  SummarizeHarness harness({.out_of_orderness_ns = 0});
  harness.Process(LongNamesOver(kWindows).Final().Build());
  EXPECT_LT(harness.patterns().size(), kWindows);
  for (size_t i = 0; i < kWindows; ++i) harness.Punctuate(PunctuationType::kIdle);
  const std::vector<PatternBatch> patterns = harness.patterns();
  ASSERT_EQ(patterns.size(), kWindows);
  EXPECT_EQ(std::ranges::count(patterns, true, &PatternBatch::final), 1);
  EXPECT_TRUE(patterns.back().final);
  ExpectAllSent(harness);
  EXPECT_EQ(harness.patterns().size(), kWindows);
}

TEST(HostileBatches, SamplesOfConnectionsAreHeldOnceForAllReportsOfTheirBatch) {
  SummarizeHarness harness;
  EventBatch batch = EventBatchBuilder(0, 0)
                         .Reported(2 * kSecond, 3, "f")
                         .Reported(4 * kSecond, 3, "f")
                         .Reported(6 * kSecond, 3, "f")
                         .Final()
                         .Build();
  const auto sample = [](int64_t time_ns) {
    return ConnectionSample{.time_ns = time_ns, .peer = 1, .resource = Resource::kNic};
  };
  batch.connections = {sample(kSecond), sample(4 * kSecond), sample(5 * kSecond),
                       sample(7 * kSecond)};
  harness.Process(batch);
  ExpectAllSent(harness);
  const std::vector<RankStanding> standings = harness.standings();
  ASSERT_EQ(standings.size(), 3u);
  EXPECT_EQ(standings[0].connections, (std::vector{sample(kSecond)}));
  EXPECT_EQ(standings[1].connections, (std::vector{sample(4 * kSecond)}));
  EXPECT_EQ(standings[2].connections, (std::vector{sample(5 * kSecond), sample(7 * kSecond)}));
}

TEST(CommunicatorTable, WhatIsTooMuchIsOneOfWhichNobodyIsAMember) {
  CommunicatorTable table(2 * sizeof(Communicator) + 8 * sizeof(uint32_t));
  std::vector<uint32_t> numbers;
  const std::vector<Communicator> two{OfRanks(1, 0), OfRanks(2, 4)};
  EXPECT_TRUE(table.Intern(two, &numbers));
  const std::vector<Communicator> more{OfRanks(1, 8), OfRanks(3, 2), OfRanks(4, 0), OfRanks(2, 4)};
  EXPECT_FALSE(table.Intern(more, &numbers));
  EXPECT_EQ(numbers[0], 0u);
  EXPECT_EQ(table[0].ranks.size(), 0u) << "its list has no room either";
  EXPECT_TRUE(table.IsOther(numbers[1]));
  EXPECT_EQ(numbers[1], numbers[2]);
  EXPECT_EQ(numbers[3], 1u);
  EXPECT_FALSE(table.MayHoldMember(numbers[1], RankId{0}));
  EXPECT_EQ(table.Find(CommId{3}), std::nullopt);
  EXPECT_EQ(table.overflowed(), 3u);
  EXPECT_EQ(table.size(), 3u);
}

TEST(CommunicatorTable, ALibraryThatAnotherMemberKnowsIsLearnt) {
  CommunicatorTable table;
  std::vector<uint32_t> numbers;
  std::vector<Communicator> one{OfRanks(1, 2)};
  table.Intern(one, &numbers);
  one[0].library = CollectiveLibrary::kGloo;
  EXPECT_TRUE(table.Intern(one, &numbers));
  EXPECT_EQ(table[0].library, CollectiveLibrary::kGloo);
  EXPECT_FALSE(table.Intern(one, &numbers));
  one[0].library = CollectiveLibrary::kUnknown;
  EXPECT_FALSE(table.Intern(one, &numbers));
  EXPECT_EQ(table[0].library, CollectiveLibrary::kGloo);
}

TEST(RankAdvance, OfMoreKindsOfOperationsOnlyTheTimeIsKept) {
  RankAdvance advance;
  for (size_t i = 0; i <= RankAdvance::kMostOperations; ++i)
    advance.Complete({CommId{i}, CollectiveOperation::kAllReduce, -1}, 4, static_cast<int64_t>(i));
  EXPECT_EQ(advance.completed.size(), RankAdvance::kMostOperations);
  EXPECT_EQ(advance.last_progress_ns, static_cast<int64_t>(RankAdvance::kMostOperations));
  advance.Complete({CommId{0}, CollectiveOperation::kAllReduce, -1}, 9, 1);
  EXPECT_EQ(advance.completed.begin()->second, 10u);
}

}  // namespace
}  // namespace eroica
