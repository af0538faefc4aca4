#include "stream_ops/diagnose/diagnose_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/hang/standing_job.h"
#include "diagnosis/measurements/training_view.h"
#include "schemas/finding_json.h"
#include "schemas/finding_version.h"
#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/diagnose/testing/diagnose_stage.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class DiagnoseProcessorTest : public DiagnoseStage {
 protected:
  // A window of four ranks, rank 1 slow if `slow`.
  static TrainingView Window(int64_t index, bool slow) {
    TrainingView job(4);
    job.RunOnAll("forward", 80);
    if (slow) job.Run(1, "<built-in function sleep>", 40, "train > throttled");
    job.Finish();
    for (PatternBatch& batch : job.batches()) {
      batch.window.index = index;
      for (StepRecord& step : batch.steps) step.id += index * 8;
    }
    return job;
  }
  void SendWindow(int64_t index, bool slow) {
    TrainingView job = Window(index, slow);
    for (const PatternBatch& batch : job.batches()) Send(batch);
  }
  // The same of a run that began then, in seconds: its processes count windows and steps from 0.
  static TrainingView WindowOfRun(int64_t start_s, int64_t index, bool slow) {
    TrainingView job = Window(index, slow);
    for (PatternBatch& batch : job.batches()) {
      batch.pid = static_cast<uint32_t>(start_s) + batch.rank.value;
      batch.window.start_ns = (start_s + index) * 1'000'000'000;
      batch.window.end_ns += batch.window.start_ns;
      batch.window.first_step = batch.steps.front().id;
      batch.window.last_step = batch.steps.back().id;
    }
    return job;
  }
  void SendWindowOfRun(int64_t start_s, int64_t index, bool slow) {
    TrainingView job = WindowOfRun(start_s, index, slow);
    for (const PatternBatch& batch : job.batches()) Send(batch);
  }
};

TEST_F(DiagnoseProcessorTest, PublishesWhenTheLastRankHasReported) {
  TrainingView job = Window(3, true);
  for (size_t i = 0; i < 3; ++i) Send(job.batches()[i]);
  EXPECT_THAT(context_.findings, IsEmpty());
  EXPECT_EQ(processor_.RestartOffset(3), 0);
  Send(job.batches()[3]);
  ASSERT_THAT(context_.findings, SizeIs(1));
  EXPECT_EQ(context_.findings[0].culprits[0].rank, 1);
  EXPECT_EQ(context_.findings[0].function, "throttled");
  EXPECT_EQ(context_.findings[0].state, FindingState::kOpened);
  EXPECT_THAT(context_.timestamps, ElementsAre(1003));
  EXPECT_EQ(processor_.RestartOffset(4), 4);
}

TEST_F(DiagnoseProcessorTest, BeyondItsMemoryTheOldestWindowIsDiagnosedWithWhatIsThere) {
  const auto pool = std::make_shared<MemoryPool>(20'000);
  processor_ = DiagnoseProcessor({.memory = pool});
  ASSERT_TRUE(processor_.Init(context_).ok());
  for (int64_t index = 0; index < 40; ++index) {
    TrainingView job = Window(index, true);
    for (size_t rank = 0; rank < 3; ++rank) Send(job.batches()[rank]);  // one never reports
    EXPECT_LE(pool->bytes(), pool->bytes_max());
  }
  EXPECT_GT(processor_.probe().windows_incomplete, 20u);
  EXPECT_LT(processor_.probe().windows_incomplete, 40u);
  EXPECT_GT(pool->bytes(), 0u);
  ASSERT_THAT(context_.findings, Not(IsEmpty()));
  for (const Finding& finding : context_.findings)
    EXPECT_THAT(finding.caveats, Contains(HasSubstr("diagnosed early"))) << finding.title;
  EXPECT_THAT(context_.findings[0].caveats, Contains(HasSubstr("3 of 4 ranks")));
  const size_t early = context_.findings.size();
  ASSERT_TRUE(processor_.Punctuate(PunctuationType::kIdle).ok());
  EXPECT_EQ(pool->bytes(), 0u) << "nothing waits any more";
  ASSERT_GT(context_.findings.size(), early);
  EXPECT_THAT(context_.findings.back().caveats, Not(Contains(HasSubstr("diagnosed early"))));
}

TEST_F(DiagnoseProcessorTest, WhatWaitsPackedIsDiagnosedAsAnythingElse) {
  constexpr int64_t kWindows = 12;
  uint64_t bytes = 0;
  for (int64_t index = 0; index < kWindows; ++index) {
    SendWindow(index, true);
    bytes += encoder_.Encode(Window(index, true).batches()[0]).size();
  }
  const std::vector<Finding> expected = context_.findings;
  InMemoryStore empty;
  RecordingContext context(empty);
  // What waits has no room decoded (four times its payload), nor as it came.
  bytes = bytes * 3 * 4 / 5 + kWindows * 3 * (sizeof(PatternBatch) + sizeof(PackedPayload));
  processor_ = DiagnoseProcessor({.memory = std::make_shared<MemoryPool>(bytes)});
  ASSERT_TRUE(processor_.Init(context).ok());
  for (const auto& [first, end] : {std::pair(0u, 3u), std::pair(3u, 4u)}) {
    for (int64_t index = 0; index < kWindows; ++index) {
      for (auto rank = first; rank < end; ++rank) Send(Window(index, true).batches()[rank]);
    }
  }
  EXPECT_EQ(processor_.probe().windows_incomplete, 0u);
  EXPECT_EQ(context.findings, expected);
}

TEST_F(DiagnoseProcessorTest, WithAJsonTopicEachVersionGoesThereToo) {
  SendWindow(2, true);
  EXPECT_THAT(context_.json_events, IsEmpty()) << "nobody has asked for it";
  processor_ = DiagnoseProcessor({.event_source = "/site", .json_topic = true});
  ASSERT_TRUE(processor_.Init(context_).ok());
  context_.findings.clear();
  SendWindow(3, true);
  ASSERT_THAT(context_.findings, SizeIs(1));
  ASSERT_THAT(context_.json_events, SizeIs(1));
  const EventRecord& event = context_.json_events[0];
  EXPECT_EQ(event.value, ToJson(context_.findings[0]));
  EXPECT_EQ(event.timestamp_ms, context_.timestamps.back());
  EXPECT_EQ(FindHeader(event.headers, "ce_id"), FindingVersionId(context_.findings[0]));
  EXPECT_EQ(FindHeader(event.headers, "ce_source"), "/site");
  EXPECT_EQ(FindHeader(event.headers, "content-type"), "application/json");
  EXPECT_EQ(FindHeader(event.headers, kHeaderSchema), std::nullopt);
}

// Rank 3 leaves after the fourth step: steps of the layouts before and after are not compared.
TEST_F(DiagnoseProcessorTest, AWindowInWhichTheJobBecomesSmallerIsNotDiagnosed) {
  TrainingView job = Window(3, true);
  job.batches()[3].final = true;
  job.batches()[3].steps.resize(4);
  for (const PatternBatch& batch : job.batches()) Send(batch);
  EXPECT_THAT(context_.findings, IsEmpty());
  SendWindow(4, true);
  EXPECT_THAT(context_.findings, SizeIs(1));
}

TEST_F(DiagnoseProcessorTest, AWindowInWhichTheJobGrowsIsNotDiagnosed) {
  SendWindow(2, false);
  for (const int64_t index : {3, 4}) {
    TrainingView job = Window(index, true);
    for (PatternBatch& batch : job.batches()) batch.world_size = 5;
    PatternBatch joined = job.batches()[0];
    joined.rank = RankId{4};
    for (const PatternBatch& batch : job.batches()) Send(batch);
    Send(joined);
    EXPECT_EQ(context_.findings.size(), index == 3 ? 0u : 1u);
  }
}

TEST_F(DiagnoseProcessorTest, StepsSpentInACheckpointDoNotCountAndAreCounted) {
  TrainingView job = Window(3, true);
  for (size_t step = 0; step < 7; ++step) job.batches()[0].steps[step].pause = Pause::kCheckpoint;
  for (const PatternBatch& batch : job.batches()) Send(batch);
  EXPECT_EQ(processor_.probe().suppressed.checkpoint, 7u);
  EXPECT_EQ(processor_.probe().findings_published, 0u)
      << "one step is left, which shows nothing that lasts";
  SendWindow(4, true);
  EXPECT_EQ(processor_.probe().findings_published, 1u);
}

TEST_F(DiagnoseProcessorTest, TheOrderOfArrivalDoesNotMatter) {
  SendWindow(3, true);
  const std::string in_order = ToJson(context_.findings.at(0), JsonTimes::kOmit);
  InMemoryStore store;
  RecordingContext context(store);
  DiagnoseProcessor processor;
  ASSERT_TRUE(processor.Init(context).ok());
  processor_ = std::move(processor);
  TrainingView job = Window(3, true);
  for (const size_t i : {2u, 0u, 2u, 3u, 1u}) Send(job.batches()[i]);
  ASSERT_THAT(context.findings, SizeIs(1));
  EXPECT_EQ(ToJson(context.findings[0], JsonTimes::kOmit), in_order);
  EXPECT_EQ(processor_.probe().duplicates, 1u);
}

TEST_F(DiagnoseProcessorTest, GoesOnAfterARestartAndIgnoresClosedWindows) {
  SendWindow(1, true);
  context_.Commit();
  Restart();
  SendWindow(1, true);  // read again: closed
  EXPECT_THAT(context_.findings, SizeIs(1));
  SendWindow(2, true);
  ASSERT_THAT(context_.findings, SizeIs(2));
  EXPECT_EQ(context_.findings[1].state, FindingState::kUpdated);
  EXPECT_EQ(context_.findings[1].first_window, 1);
  SendWindow(3, false);
  SendWindow(4, false);
  ASSERT_THAT(context_.findings, SizeIs(3));
  EXPECT_EQ(context_.findings[2].state, FindingState::kResolved);
}

TEST_F(DiagnoseProcessorTest, AJobThatIsStartedAgainUnderItsNameIsDiagnosedAtOnce) {
  for (const int64_t index : {0, 1, 2, 3}) SendWindowOfRun(100, index, false);
  EXPECT_THAT(context_.findings, IsEmpty());
  for (const int64_t index : {0, 1, 2}) SendWindowOfRun(200, index, true);
  EXPECT_EQ(processor_.probe().windows_diagnosed, 7u);
  EXPECT_EQ(processor_.probe().runs_begun, 1u);
  EXPECT_TRUE(context_.unused.empty());
  ASSERT_THAT(context_.findings, SizeIs(3));
  EXPECT_EQ(context_.findings[0].state, FindingState::kOpened);
  EXPECT_EQ(context_.findings[0].first_window, 4);
  EXPECT_EQ(context_.findings[2].state, FindingState::kUpdated);
  EXPECT_EQ(context_.findings[2].last_window, 6);
}

// EROICA_RANK on every host: another process says that it is rank 1, and is slow.
TEST_F(DiagnoseProcessorTest, OfTwoProcessesThatAreOneRankOnlyTheFirstCounts) {
  const auto send_other = [&](int64_t index) {
    PatternBatch other = WindowOfRun(100, index, true).batches()[1];
    other.host = "b";
    other.pid = 7;
    Send(other);
  };
  for (const int64_t index : {0, 1, 2}) {
    SendWindowOfRun(100, index, false);
    send_other(index);
  }
  for (const int64_t index : {3, 4, 5, 6, 7}) {
    send_other(index);
    SendWindowOfRun(100, index, false);
  }
  EXPECT_THAT(context_.findings, IsEmpty());
  EXPECT_EQ(processor_.probe().windows_diagnosed, 8u);
}

// Six slow steps of a window open nothing, six of a second one do: of the same run.
TEST_F(DiagnoseProcessorTest, WhatIsRememberedOfARunEndsWithIt) {
  for (const int64_t second_run_s : {100, 200}) {
    processor_ = DiagnoseProcessor();
    InMemoryStore store;
    RecordingContext context(store);
    ASSERT_TRUE(processor_.Init(context).ok());
    const auto send = [this](int64_t start_s, int64_t index) {
      TrainingView job = WindowOfRun(start_s, index, false);
      TrainingView slow(4);
      slow.RunOnAll("forward", 80);
      slow.RunInSteps(1, "<built-in function sleep>", 40, 0, 6, "train > throttled");
      slow.Finish();
      for (size_t rank = 0; rank < 4; ++rank) {
        PatternBatch batch = job.batches()[rank];
        batch.patterns = slow.batches()[rank].patterns;
        batch.steps = slow.batches()[rank].steps;
        for (StepRecord& step : batch.steps) step.id += index * 8;
        Send(batch);
      }
    };
    send(100, 0);
    EXPECT_THAT(context.findings, IsEmpty());
    send(second_run_s, second_run_s == 100 ? 1 : 0);
    EXPECT_EQ(context.findings.size(), second_run_s == 100 ? 1u : 0u);
  }
}

TEST_F(DiagnoseProcessorTest, ANodeThatRestartsBetweenTwoRunsKnowsTheFirst) {
  for (const int64_t index : {0, 1, 2, 3}) SendWindowOfRun(100, index, false);
  TrainingView begun = WindowOfRun(200, 0, true);
  Send(begun.batches()[0]);  // not complete yet: it is read again
  context_.Commit();
  Restart();
  EXPECT_EQ(processor_.probe().windows_diagnosed, 0u);
  SendWindowOfRun(100, 3, false);  // read again: closed
  EXPECT_EQ(context_.unused.size(), 1u);
  for (const int64_t index : {0, 1}) SendWindowOfRun(200, index, true);
  EXPECT_EQ(processor_.probe().windows_diagnosed, 2u);
  ASSERT_THAT(context_.findings, SizeIs(2));
  EXPECT_EQ(context_.findings[0].first_window, 4);
}

TEST_F(DiagnoseProcessorTest, ARunThatHangsWhereTheOneBeforeHungIsLookedAt) {
  for (int64_t index = 0; index < 8; ++index) SendWindowOfRun(100, index, false);
  const auto send_hang = [this](int64_t at_s, int64_t step) {
    StandingJob job(4);
    const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
    job.InFlight(dp, CollectiveOperation::kAllReduce, 41, {0, 2, 3});
    for (RankStanding standing : job.standings()) {
      const int64_t shift_ns = at_s * 1'000'000'000 - standing.time_ns;
      standing.time_ns += shift_ns;
      standing.last_progress_ns += shift_ns;
      standing.step = step;
      standing.last_step = step - 1;
      standing.window_index = step / 8;
      Send(standing);
    }
  };
  send_hang(130, 64);
  const size_t versions = context_.findings.size();
  ASSERT_GT(versions, 0u);
  EXPECT_EQ(context_.findings.back().kind, FindingKind::kHang);
  EXPECT_EQ(context_.findings.back().last_window, 8);
  context_.Commit();
  Restart();
  for (int64_t index = 0; index < 8; ++index) SendWindowOfRun(300, index, false);
  send_hang(330, 64);
  EXPECT_GT(context_.findings.size(), versions);
  EXPECT_EQ(context_.findings.back().kind, FindingKind::kHang);
  EXPECT_EQ(context_.findings.back().last_window, 16);
}

TEST_F(DiagnoseProcessorTest, IdlenessClosesWhatIsThere) {
  TrainingView job = Window(3, true);
  for (const size_t i : {0u, 1u, 2u}) Send(job.batches()[i]);
  ASSERT_TRUE(processor_.Punctuate(PunctuationType::kIdle).ok());
  ASSERT_THAT(context_.findings, SizeIs(1));
  EXPECT_EQ(context_.findings[0].ranks_seen, 3u);
  EXPECT_EQ(processor_.probe().windows_incomplete, 1u);
  EXPECT_TRUE(context_.unused.empty());
  Send(job.batches()[3]);
  EXPECT_EQ(processor_.probe().for_closed_windows, 1u);
  EXPECT_EQ(
      context_.unused,
      (std::map<DropReason, uint64_t>{{DropReason::kLate, job.batches()[3].completeness.events}}));
}

TEST_F(DiagnoseProcessorTest, ARestartInAHangOpensNothingTwice) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, CollectiveOperation::kAllReduce, 41, {0, 2});
  for (const RankStanding& standing : job.standings()) Send(standing);
  ASSERT_THAT(context_.findings, SizeIs(2)) << "20 s are two levels";
  EXPECT_EQ(context_.findings[0].kind, FindingKind::kHang);
  EXPECT_EQ(context_.findings[0].culprits[0].rank, 1);
  EXPECT_EQ(context_.findings[0].state, FindingState::kOpened);
  EXPECT_EQ(context_.findings[1].state, FindingState::kUpdated);
  EXPECT_EQ(processor_.RestartOffset(3), 3);
  context_.Commit();
  Restart();
  for (const RankStanding& standing : job.standings()) Send(standing);
  ASSERT_TRUE(processor_.Punctuate(PunctuationType::kEndOfInput).ok());
  EXPECT_THAT(context_.findings, SizeIs(2));
  EXPECT_EQ(processor_.probe().standings_received, 3u);
}

TEST_F(DiagnoseProcessorTest, BadPayloadsAreDeadLettered) {
  ConsumerRecord record;
  record.value = "no flatbuffer";
  ASSERT_TRUE(processor_.Process(record).ok());
  Finding finding;
  finding.id = "x";
  finding.job = JobId{"job"};
  Send(finding);  // a good payload on the wrong topic
  EXPECT_THAT(context_.dead_letters,
              ElementsAre(DropReason::kWrongIdentifier, DropReason::kWrongIdentifier));
  EXPECT_EQ(processor_.probe().dead_lettered, 2u);
}

// Four ranks say the longest stacks, of functions that nobody else runs.
TEST_F(DiagnoseProcessorTest, AMemoryThatIsTooLargeToBeKeptIsDropped) {
  TrainingView job = Window(1, false);
  for (PatternBatch& batch : job.batches()) {
    for (uint64_t i = 0; i < 400; ++i) {
      FunctionPattern row = batch.patterns.front();
      row.function = FunctionId{(uint64_t{1} << 63) + batch.rank.value * 400 + i};
      row.stack = std::string(CodecLimits::kTextBytes, 's');
      batch.patterns.push_back(std::move(row));
    }
    std::ranges::sort(batch.patterns, {}, &FunctionPattern::function);
    Send(batch);
  }
  EXPECT_THAT(context_.outputs_dropped, ElementsAre(DropReason::kLimitExceeded));
  EXPECT_EQ(processor_.probe().outputs_dropped, 1u);
  EXPECT_EQ(processor_.probe().windows_diagnosed, 1u);
  SendWindow(2, false);
  EXPECT_EQ(processor_.probe().windows_diagnosed, 2u);
  EXPECT_THAT(context_.outputs_dropped, SizeIs(1));
}

TEST_F(DiagnoseProcessorTest, FindingsAndTheJobAreInTheStore) {
  SendWindow(1, true);
  context_.Commit();
  size_t findings = 0;
  ASSERT_TRUE(store_
                  .Scan(Table::kFindings, EncodeKey(JobId{"job"}),
                        [&](std::string_view, std::string_view) { return ++findings > 0; })
                  .ok());
  EXPECT_EQ(findings, 1u);
  EXPECT_TRUE(store_.Get(Table::kJobs, EncodeKey(JobId{"job"}))->has_value());
}

TEST_F(DiagnoseProcessorTest, WindowsAreOnTheBoardAndTheJobIsKnownThereAfterARestart) {
  const auto board = std::make_shared<JobBoard>(1'000'000);
  const DiagnoseOptions options{.wall_clock_ns = [] { return int64_t{42}; }, .board = board};
  processor_ = DiagnoseProcessor(options);
  ASSERT_TRUE(processor_.Init(context_).ok());
  SendWindow(3, true);
  const auto job = board->Find(JobId("job"));
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->newest.index, 3);
  EXPECT_EQ(job->diagnosed_at_ns, 42);
  ASSERT_THAT(job->windows, SizeIs(1));
  EXPECT_THAT(job->windows[0]->detail->ranks, SizeIs(4));
  EXPECT_THAT(job->newest.finding_ids, ElementsAre(context_.findings.at(0).id));

  context_.Commit();
  processor_ = DiagnoseProcessor();
  EXPECT_EQ(board->Find(JobId("job")), nullptr) << "its task is gone";
  processor_ = DiagnoseProcessor(options);
  ASSERT_TRUE(processor_.Init(context_).ok());
  const auto restored = board->Find(JobId("job"));
  ASSERT_NE(restored, nullptr);
  EXPECT_THAT(restored->windows, IsEmpty());
  EXPECT_EQ(restored->newest.index, 3);
  EXPECT_EQ(restored->newest.ranks_seen, 4U);
}

TEST_F(DiagnoseProcessorTest, FindingsLeaveTheStoreAfterTheirRetention) {
  int64_t now_ns = 1'000;
  constexpr int64_t kRetentionNs = 500;
  processor_ = DiagnoseProcessor({.wall_clock_ns = [&now_ns] { return now_ns; },
                                  .jobs = {.silent_minutes = 10, .ended_kept = 0},
                                  .findings_retention_ns = kRetentionNs});
  ASSERT_TRUE(processor_.Init(context_).ok());
  SendWindow(1, true);
  context_.Commit();
  const auto findings_after_an_hour = [&] {
    for (int minute = 0; minute < 60; ++minute) {
      EXPECT_TRUE(processor_.Punctuate(PunctuationType::kMinute).ok());
      context_.Commit();
    }
    size_t findings = 0;
    const auto count = [&](std::string_view, std::string_view) { return ++findings > 0; };
    EXPECT_TRUE(store_.Scan(Table::kFindings, "", count).ok());
    return findings;
  };
  EXPECT_EQ(findings_after_an_hour(), 1u);
  EXPECT_EQ(processor_.probe().jobs_forgotten, 1u);
  now_ns += kRetentionNs;
  EXPECT_EQ(findings_after_an_hour(), 1u);
  ++now_ns;
  EXPECT_EQ(findings_after_an_hour(), 0u);
  EXPECT_EQ(processor_.probe().findings_expired, 1u);
}

}  // namespace
}  // namespace eroica
