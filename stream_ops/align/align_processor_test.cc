#include "stream_ops/align/align_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/test_encoder.h"
#include "schemas/time_unit.h"
#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/align/align_task.h"
#include "stream_ops/align/align_test_batches.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum CollectiveOperation;

constexpr int64_t kMs = kNsPerMs;
class AlignProcessorTest : public ::testing::Test {
 protected:
  InMemoryStore store_;
};

TEST_F(AlignProcessorTest, SendsOneSummaryAWindow) {
  AlignTask task(&store_);
  task.Process(BatchOf(0, 3, kBoth, {RowOf(kAllReduce, 0, 50)}));
  EXPECT_THAT(task.sent, IsEmpty());
  task.Process(BatchOf(1, 3, kBoth, {RowOf(kAllReduce, 0, 10)}));
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_EQ(task.sent[0].window, TimeWindow(3));
  EXPECT_EQ(task.sent[0].members[1].caused_wait_ns, 40 * kMs);
}

TEST_F(AlignProcessorTest, CommunicatorsJobsAndKindsAreApart) {
  AlignTask task(&store_);
  CollectiveBatch other_communicator = BatchOf(1, 3, kBoth);
  other_communicator.communicator.id = CommId(8);
  CollectiveBatch other_job = BatchOf(1, 3, kBoth);
  other_job.job = JobId("another");
  CollectiveBatch steps = BatchOf(1, 3, kBoth);
  steps.window.kind = WindowKind::kSteps;
  task.Process(BatchOf(0, 3, kBoth, {RowOf(kAllReduce, 0, 50)}));
  task.Process(other_communicator);
  task.Process(other_job);
  task.Process(steps);
  EXPECT_THAT(task.sent, IsEmpty());
  task.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_THAT(task.sent, SizeIs(4));
  for (const CollectiveSummary& summary : task.sent) EXPECT_THAT(summary.missing, SizeIs(1));
}

TEST_F(AlignProcessorTest, IdlenessClosesAWindowAndNamesTheMissing) {
  AlignTask task(&store_);
  task.Process(BatchOf(0, 3, {0, 1, 2}, {RowOf(kAllReduce, 0, 50)}));
  task.Process(BatchOf(2, 3, {0, 1, 2}, {RowOf(kAllReduce, 0, 10)}));
  task.Punctuate(PunctuationType::kIdle);
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_THAT(task.sent[0].missing, ElementsAre(RankId(1)));
  EXPECT_EQ(task.sent[0].members[1].caused_wait_ns, 40 * kMs);
  EXPECT_EQ(task.probe().windows_idle, 1u);

  task.Process(BatchOf(1, 3, {0, 1, 2}, {RowOf(kAllReduce, 0, 1)}));
  EXPECT_THAT(task.sent, SizeIs(1));
  EXPECT_EQ(task.probe().batches_late, 1u);
  EXPECT_EQ(task.probe().rows_dropped, 1u);
  EXPECT_EQ(task.unused, (std::map<DropReason, uint64_t>{{DropReason::kLate, 1}}));
}

TEST_F(AlignProcessorTest, RowsAtTheEdgeOutliveIdleness) {
  AlignTask task(&store_);
  task.Process(BatchOf(0, 3, kBoth, {RowOf(kAllReduce, 0, 50)}));
  task.Process(BatchOf(1, 3, kBoth));
  task.Punctuate(PunctuationType::kIdle);
  EXPECT_THAT(task.sent, SizeIs(1));
  task.Process(BatchOf(0, 4, kBoth));
  task.Process(BatchOf(1, 4, kBoth, {RowOf(kAllReduce, 0, 10)}));
  ASSERT_THAT(task.sent, SizeIs(2));
  EXPECT_EQ(task.sent[1].operations, 1u);
  EXPECT_EQ(task.sent[0].incomplete + task.sent[1].incomplete, 0u);
}

TEST_F(AlignProcessorTest, TheEndOfInputSettlesWhatWasCarried) {
  AlignTask task(&store_);
  task.Process(BatchOf(0, 3, kBoth, {RowOf(kAllReduce, 0, 50)}));
  task.Process(BatchOf(1, 3, kBoth));
  task.Punctuate(PunctuationType::kEndOfInput);
  ASSERT_THAT(task.sent, SizeIs(2));
  EXPECT_EQ(task.sent[0].incomplete, 0u);
  EXPECT_EQ(task.sent[1].window.index, 4);
  EXPECT_EQ(task.sent[1].operations, 0u);
  EXPECT_EQ(task.sent[1].incomplete, 1u);
  EXPECT_THAT(task.sent[1].missing, IsEmpty());
  EXPECT_EQ(task.processor().pending_rows(), 0u);
}

TEST_F(AlignProcessorTest, ALastWindowSettlesItself) {
  AlignTask task(&store_);
  for (const uint32_t rank : kBoth) {
    CollectiveBatch batch = BatchOf(rank, 3, kBoth);
    if (rank == 0) batch.records = {RowOf(kAllReduce, 0, 50)};
    batch.final = true;
    task.Process(batch);
  }
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_EQ(task.sent[0].incomplete, 1u);
}

TEST_F(AlignProcessorTest, TooManyOpenWindowsCloseTheOldest) {
  AlignTask task(&store_, {.open_windows_max = 2});
  for (int64_t window = 0; window < 5; ++window)
    task.Process(BatchOf(0, window, kBoth, {RowOf(kAllReduce, static_cast<uint64_t>(window), 5)}));
  ASSERT_THAT(task.sent, SizeIs(3));
  EXPECT_EQ(task.sent[0].window.index, 0);
  EXPECT_THAT(task.sent[0].missing, ElementsAre(RankId(1)));
  EXPECT_EQ(task.probe().windows_overrun, 3u);
}

TEST_F(AlignProcessorTest, TooMuchMemoryClosesTheOldestWindowOfTheLargestCommunicator) {
  const auto pool =
      std::make_shared<MemoryPool>(10 * sizeof(CollectiveRecord) + 4 * sizeof(CollectiveBatch));
  AlignTask task(&store_, {.memory = pool});
  std::vector<CollectiveRecord> rows;
  for (uint64_t i = 0; i < 4; ++i) rows.push_back(RowOf(kAllReduce, i, 5));
  CollectiveBatch small = BatchOf(0, 0, kBoth, {rows[0]});
  small.communicator.id = CommId(1);
  task.Process(small);
  for (int64_t window = 0; window < 3; ++window) task.Process(BatchOf(0, window, kBoth, rows));
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_EQ(task.sent[0].communicator, CommId(7));
  EXPECT_EQ(task.sent[0].window.index, 0);
  EXPECT_LE(task.processor().pending_rows(), 10u);
  EXPECT_LE(pool->bytes(), pool->bytes_max());
  task.Punctuate(PunctuationType::kEndOfInput);
  EXPECT_EQ(pool->bytes(), 0u) << "nothing waits any more";
}

TEST_F(AlignProcessorTest, ABadPayloadGoesToTheDeadLetters) {
  AlignTask task(&store_);
  task.Process(std::string("no batch"), 0);
  TestEncoder encoder;
  CollectiveSummary summary;
  summary.job = JobId("job");
  const Bytes wrong = encoder.Encode(summary);
  task.Process(std::string(reinterpret_cast<const char*>(wrong.data()), wrong.size()), 1);
  EXPECT_THAT(task.dead_letters, SizeIs(2));
  EXPECT_EQ(task.probe().batches_malformed, 2u);
}

TEST_F(AlignProcessorTest, DamagedProgressIsSaid) {
  for (const auto& [key, value] :
       {std::pair(AlignedKey({JobId("job"), CommId(7), WindowKind::kTime}), "cut"),
        std::pair(MembersKey({JobId("job"), CommId(7), WindowKind::kTime}), "cut"),
        std::pair(CarriedKey({JobId("job"), CommId(7), WindowKind::kTime}, RankId(0)), "cut")}) {
    InMemoryStore store;
    StateChanges changes;
    changes.Put(Table::kProgress, key, value);
    ASSERT_TRUE(store.Write(changes).ok());
    struct Context : ProcessorContext {
      explicit Context(StateStore* s) : store_(s) {}
      void Forward(Topic, std::string, PayloadType, Bytes, int64_t, const JobId&) override {}
      void DeadLetter(DropReason) override {}
      void DropOutput(DropReason) override {}
      const StateStore& store() const override { return *store_; }
      StateChanges& changes() override { return changes_; }
      StateStore* store_;
      StateChanges changes_;
    } context(&store);
    EXPECT_EQ(AlignProcessor().Init(context).code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(AlignProcessorTest, WhatIsReadAgainFromTheRestartOffsetRebuildsTheOpenWindows) {
  AlignTask task(&store_);
  EXPECT_EQ(task.processor().RestartOffset(7), 7);
  task.Process(BatchOf(0, 3, kBoth), 7);
  task.Process(BatchOf(0, 4, kBoth), 8);
  task.Process(BatchOf(1, 3, kBoth), 9);
  EXPECT_EQ(task.processor().RestartOffset(10), 8);
  task.Process(BatchOf(1, 4, kBoth), 10);
  EXPECT_EQ(task.processor().RestartOffset(11), 11);
}

// A run of four ranks over eight windows, on two communicators. Rank 2 is late by clock, so that
// its last row of each window lies in the next one; rank 3 is slow in every third operation; rank 1
// is finished two windows early.
std::vector<CollectiveBatch> MakeRun() {
  std::vector<CollectiveBatch> run;
  for (uint64_t window = 0; window < 8; ++window) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      if (rank == 1 && window > 5) continue;
      CollectiveBatch batch = BatchOf(rank, static_cast<int64_t>(window), {0, 1, 2, 3});
      batch.predecessors = {{FunctionId(rank + 1), "function of " + std::to_string(rank), ""}};
      for (uint64_t i = window * 3; i < window * 3 + 3; ++i) {
        const uint64_t sequence = rank == 2 ? i - 1 : i;
        if (rank == 2 && i == 0) continue;
        CollectiveRecord row =
            RowOf(kAllReduce, sequence, rank == 3 && sequence % 3 == 0 ? 2 : 20 + rank,
                  static_cast<int64_t>(sequence));
        row.before = 1;
        batch.records.push_back(row);
      }
      batch.final = window == (rank == 1 ? 5 : 7);
      run.push_back(batch);
      batch.communicator.id = CommId(100 + rank / 2);
      batch.communicator.ranks =
          rank < 2 ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{2, 3};
      batch.communicator.size = 2;
      run.push_back(std::move(batch));
    }
  }
  return run;
}

// The same, but of each window only one member lists all; the others give their number.
std::vector<CollectiveBatch> MakeRunListedByFew() {
  std::vector<CollectiveBatch> run = MakeRun();
  for (CollectiveBatch& batch : run) {
    std::vector<uint32_t>& ranks = batch.communicator.ranks;
    if (ranks[static_cast<size_t>(batch.window.index) % ranks.size()] != batch.rank.value)
      ranks.clear();
  }
  return run;
}

using SummaryByKey = std::map<std::pair<CommId, int64_t>, CollectiveSummary>;

// A summary that is sent again must say the same.
void Collect(const std::vector<CollectiveSummary>& sent, SummaryByKey* out) {
  for (const CollectiveSummary& summary : sent) {
    const auto [entry, is_new] =
        out->try_emplace({summary.communicator, summary.window.index}, summary);
    EXPECT_EQ(entry->second, summary);
  }
}

SummaryByKey RunStraight(const std::vector<CollectiveBatch>& run) {
  InMemoryStore store;
  AlignTask task(&store);
  for (size_t i = 0; i < run.size(); ++i) task.Process(run[i], static_cast<int64_t>(i));
  task.Punctuate(PunctuationType::kEndOfInput);
  SummaryByKey summaries;
  Collect(task.sent, &summaries);
  EXPECT_EQ(task.processor().pending_rows(), 0u);
  return summaries;
}

TEST_F(AlignProcessorTest, TheExampleRunIsWhatItShouldBe) {
  const SummaryByKey summaries = RunStraight(MakeRun());
  ASSERT_THAT(summaries, SizeIs(3 * 8));
  const CollectiveSummary& first = summaries.at({CommId(7), 0});
  EXPECT_EQ(first.operations, 2u);  // number 2 of rank 2 lies in the next window
  EXPECT_EQ(first.members[3].last_count, 1u);
  EXPECT_EQ(first.members[3].caused_wait_ns, (18 + 19 + 20) * kMs);
  const CollectiveSummary& second = summaries.at({CommId(7), 1});
  EXPECT_EQ(second.operations, 3u);  // 2, 3 and 4
  EXPECT_EQ(second.incomplete, 0u);
  const CollectiveSummary& last = summaries.at({CommId(7), 7});
  EXPECT_THAT(last.missing, IsEmpty());  // rank 1 is finished
  EXPECT_EQ(last.incomplete, 1u);        // number 23, which rank 2 does not reach
}

TEST_F(AlignProcessorTest, TheInterleavingOfRanksDoesNotMatter) {
  const std::vector<CollectiveBatch> run = MakeRun();
  const SummaryByKey expected = RunStraight(run);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    // Any order that keeps that of each rank.
    std::map<std::pair<RankId, CommId>, std::vector<CollectiveBatch>> queues;
    std::vector<std::pair<RankId, CommId>> turns;
    for (const CollectiveBatch& batch : run) {
      queues[{batch.rank, batch.communicator.id}].push_back(batch);
      turns.emplace_back(batch.rank, batch.communicator.id);
    }
    std::shuffle(turns.begin(), turns.end(), std::mt19937(seed));
    std::vector<CollectiveBatch> shuffled;
    std::map<std::pair<RankId, CommId>, size_t> next;
    for (const auto& turn : turns) shuffled.push_back(queues[turn][next[turn]++]);
    EXPECT_EQ(RunStraight(shuffled), expected) << "seed " << seed;
  }
}

TEST_F(AlignProcessorTest, RankAfterRankIsTheSameAsWindowAfterWindow) {
  std::vector<CollectiveBatch> run = MakeRun();
  const SummaryByKey expected = RunStraight(run);
  std::ranges::stable_sort(run, {}, &CollectiveBatch::rank);
  EXPECT_EQ(RunStraight(run), expected);
}

TEST_F(AlignProcessorTest, DuplicatesDoNotMatter) {
  std::vector<CollectiveBatch> run;
  for (const CollectiveBatch& batch : MakeRun()) run.insert(run.end(), {batch, batch});
  EXPECT_EQ(RunStraight(run), RunStraight(MakeRun()));
}

TEST_F(AlignProcessorTest, WhoListsTheMembersDoesNotMatter) {
  EXPECT_EQ(RunStraight(MakeRunListedByFew()), RunStraight(MakeRun()));
}

// Rank 0 alone lists the members, then it says no more.
TEST_F(AlignProcessorTest, TheMembersAreRememberedOverARestart) {
  const auto batch_of = [](uint32_t rank, int64_t window) {
    CollectiveBatch batch = BatchOf(rank, window, {0, 1, 2});
    if (rank != 0) batch.communicator.ranks.clear();
    return batch;
  };
  {
    AlignTask task(&store_);
    for (const uint32_t rank : {1u, 0u, 2u}) task.Process(batch_of(rank, 3));
    ASSERT_THAT(task.sent, SizeIs(1));
    task.Commit();
  }
  AlignTask task(&store_);
  task.Process(batch_of(2, 4));
  task.Punctuate(PunctuationType::kIdle);
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_THAT(task.sent[0].missing, ElementsAre(RankId(0), RankId(1)));
}

class AlignRestartTest : public ::testing::TestWithParam<bool> {};

TEST_P(AlignRestartTest, ARestartAnywhereChangesNothing) {
  const std::vector<CollectiveBatch> run = GetParam() ? MakeRunListedByFew() : MakeRun();
  const SummaryByKey expected = RunStraight(run);
  for (size_t committed = 0; committed <= run.size(); ++committed) {
    // what comes after the commit is lost and done again
    const size_t crash = std::min(run.size(), committed + 3);
    InMemoryStore store;
    SummaryByKey summaries;
    size_t restart = 0;
    {
      AlignTask task(&store);
      for (size_t i = 0; i < crash; ++i) {
        if (i == committed) {
          restart = static_cast<size_t>(task.processor().RestartOffset(static_cast<int64_t>(i)));
          task.Commit();
        }
        task.Process(run[i], static_cast<int64_t>(i));
      }
      if (committed == run.size()) {
        restart =
            static_cast<size_t>(task.processor().RestartOffset(static_cast<int64_t>(committed)));
        task.Commit();
      }
      Collect(task.sent, &summaries);
    }
    AlignTask task(&store);
    for (size_t i = restart; i < run.size(); ++i) task.Process(run[i], static_cast<int64_t>(i));
    task.Punctuate(PunctuationType::kEndOfInput);
    Collect(task.sent, &summaries);
    EXPECT_EQ(summaries, expected) << "committed before record " << committed;
  }
}

INSTANTIATE_TEST_SUITE_P(ListedByFew, AlignRestartTest, ::testing::Bool());

// Rank 1 never joined operation 9 of the run before; the next one counts its own from 0. A restart
// in between changes nothing.
TEST_F(AlignProcessorTest, WhatARunLeftIsSettledWhenTheNextBegins) {
  const auto batch = [](uint32_t rank, int64_t index, int64_t start_s, uint64_t sequence) {
    CollectiveBatch of_run = BatchOf(rank, index, kBoth, {RowOf(kAllReduce, sequence, 10)});
    const int64_t start_ns = (start_s + index) * 1'000 * kMs;
    of_run.window = {.kind = WindowKind::kSteps,
                     .index = index,
                     .start_ns = start_ns,
                     .end_ns = start_ns + 1'000 * kMs,
                     .first_step = index,
                     .last_step = index};
    return of_run;
  };
  for (const bool restarts : {false, true}) {
    InMemoryStore store;
    AlignTask first(&store);
    for (const uint32_t rank : kBoth) first.Process(batch(rank, 0, 100, 8));
    CollectiveBatch ahead = batch(0, 1, 100, 9);
    CollectiveBatch empty = batch(1, 1, 100, 9);
    empty.records.clear();
    first.Process(ahead);
    first.Process(empty);
    first.Commit();
    EXPECT_EQ(first.processor().pending_rows(), 1u) << "carried";
    AlignTask second(&store);
    AlignTask& task = restarts ? second : first;
    const size_t before = task.sent.size();
    for (const uint32_t rank : kBoth) task.Process(batch(rank, 0, 200, 0), 4);
    ASSERT_THAT(task.sent, SizeIs(before + 2));
    EXPECT_EQ(task.sent[before].incomplete, 1u);
    EXPECT_EQ(task.sent[before].window.index, 2) << "behind the window that it is of";
    EXPECT_EQ(task.sent[before + 1].window.index, 0);
    EXPECT_EQ(task.sent[before + 1].operations, 1u);
    EXPECT_EQ(task.sent[before + 1].incomplete, 0u);
    EXPECT_EQ(task.processor().pending_rows(), 0u);
  }
}

TEST_F(AlignProcessorTest, AfterTheEndNothingIsLeftToRemember) {
  InMemoryStore store;
  AlignTask task(&store);
  for (const CollectiveBatch& batch : MakeRun()) task.Process(batch);
  task.Commit();
  int left = 0;
  const auto count = [&](std::string_view key, std::string_view) {
    const auto row = DecodeAlignKey(key);  // none: how old the job is
    left += row && row->family != ProgressFamily::kAligned ? 1 : 0;
    return true;
  };
  ASSERT_TRUE(store.Scan(Table::kProgress, "", count).ok());
  EXPECT_EQ(left, 0);
}

// Rows with arbitrary numbers, in any order: the books close (AlignTask checks them), and what is
// sent can be encoded.
TEST_F(AlignProcessorTest, ArbitraryRowsDoNoHarm) {
  std::mt19937_64 random(1);
  const auto pick = [&random](std::initializer_list<int64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  for (int round = 0; round < 50; ++round) {
    InMemoryStore store;
    AlignTask task(&store,
                   {.open_windows_max = 3,
                    .memory = std::make_shared<MemoryPool>(200 * sizeof(CollectiveRecord))});
    for (int i = 0; i < 60; ++i) {
      CollectiveBatch batch = BatchOf(static_cast<uint32_t>(random() % 5), 0, {});
      batch.window.index = pick({0, 1, 2, 3, -7, CodecLimits::kMaxTimeNs});
      batch.window.start_ns = 0;
      batch.window.end_ns = pick({0, CodecLimits::kMaxTimeNs});
      batch.communicator.size = static_cast<uint32_t>(pick({0, 3, 1'000'000}));
      if (random() % 2 == 0) batch.communicator.ranks = {0, 1, 7};
      batch.final = random() % 8 == 0;
      batch.predecessors = {{FunctionId(1), "a", ""}, {FunctionId(2), "b", ""}};
      for (uint64_t rows = random() % 20; rows > 0; --rows) {
        CollectiveRecord row;
        row.operation = static_cast<CollectiveOperation>(random() % kCollectiveOperationCount);
        row.sequence = static_cast<uint64_t>(pick({0, 1, 2, -1}));
        row.peer = static_cast<int32_t>(pick({-1, 0, 1, 7}));
        row.step = pick({-1, 0, 1, CodecLimits::kMaxTimeNs});
        row.duration_ns = pick({0, 1, kMs, CodecLimits::kMaxTimeNs});
        row.exposed_ns = pick({0, kMs, CodecLimits::kMaxTimeNs});
        row.bytes = static_cast<uint64_t>(pick({0, 1, -1}));
        row.before = static_cast<uint32_t>(random() % 3);
        row.before_ns = pick({0, CodecLimits::kMaxTimeNs});
        batch.records.push_back(row);
      }
      task.Process(batch, i);
      if (random() % 16 == 0) task.Punctuate(PunctuationType::kIdle);
    }
    task.Punctuate(PunctuationType::kEndOfInput);
    EXPECT_EQ(task.processor().pending_rows(), 0u);
    EXPECT_EQ(task.processor().RestartOffset(1'000), 1'000);
  }
}

}  // namespace
}  // namespace eroica
