// DiagnoseProcessor and processes of ranks that have ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "diagnosis/hang/standing_job.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/report/subkinds.h"
#include "state_store/key_schema.h"
#include "stream_ops/diagnose/failure_row.h"
#include "stream_ops/diagnose/testing/diagnose_stage.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

class DiagnoseStandingsTest : public DiagnoseStage {
 protected:
  // A rank of four in its step 42, in window 4.
  static RankStanding Ended(uint32_t rank, int64_t time_s, ProcessEnd end) {
    RankStanding standing = StandingJob(4)[rank];
    standing.time_ns = time_s * kSecond;
    standing.last_progress_ns = standing.time_ns;
    standing.end = end;
    return standing;
  }
  void SendWindow(int64_t index) {
    TrainingView job(4);
    job.RunOnAll("forward", 80);
    job.Finish();
    for (PatternBatch& batch : job.batches()) {
      batch.window.index = index;
      for (StepRecord& step : batch.steps) step.id += index * 8;
      Send(batch);
    }
  }
};

TEST_F(DiagnoseStandingsTest, AProcessThatEndsIsAFindingAtOnce) {
  Send(Ended(2, 100, {.signal = SIGKILL}));
  ASSERT_THAT(context_.findings, SizeIs(1));
  const Finding& finding = context_.findings[0];
  EXPECT_EQ(finding.subkind, kEndedProcess);
  EXPECT_EQ(finding.state, FindingState::kOpened);
  EXPECT_EQ(finding.culprits[0].rank, 2);
  EXPECT_EQ(finding.world_size, 4u);
  EXPECT_EQ(finding.last_window, 4);
  EXPECT_EQ(finding.first_step, 42);
}

TEST_F(DiagnoseStandingsTest, WhatEndsAfterItOnAnotherHostEndsBecauseOfIt) {
  Send(Ended(2, 100, {.signal = SIGKILL}));
  Send(Ended(0, 101, {.exit_code = 1}));
  context_.Commit();
  Restart();
  Send(Ended(3, 102, {.exit_code = 1}));
  EXPECT_THAT(context_.findings, SizeIs(1));
}

TEST_F(DiagnoseStandingsTest, AnEndOfTheNextAttemptIsAnother) {
  Send(Ended(2, 100, {.signal = SIGKILL}));
  Send(Ended(0, 200, {.exit_code = 1, .started_ns = 150 * kSecond}));
  ASSERT_THAT(context_.findings, SizeIs(2));
  EXPECT_EQ(context_.findings[1].culprits[0].rank, 0);
}

TEST_F(DiagnoseStandingsTest, AFailureThatNobodyIsKnownToCauseIsKeptAndNoFinding) {
  const JobFailure failure{.exit_code = 1, .ranks = 4, .within_ns = 7};
  const RankStanding ended = Ended(2, 100, {.signal = SIGTERM, .job_failure = failure});
  const auto kept = [&] {
    const auto row =
        store_.Get(Table::kProgress, BeginProgressKey(ended.job, ProgressFamily::kFailure).key());
    EXPECT_TRUE(row.ok());
    return row.ok() && row->has_value() ? DecodeFailureRow(**row) : std::nullopt;
  };
  Send(ended);
  context_.Commit();
  EXPECT_THAT(context_.findings, IsEmpty());
  EXPECT_EQ(kept(), (UnexplainedFailure{.signal = SIGTERM, .failure = failure}));
  Restart();
  SendWindow(4);
  EXPECT_THAT(context_.findings, IsEmpty()) << "the row is read again";
}

TEST(FailureRow, WhatIsNoRowIsRefused) {
  const std::string row = EncodeFailureRow({.signal = SIGTERM, .failure = {.exit_code = 1}});
  EXPECT_TRUE(DecodeFailureRow(row));
  EXPECT_FALSE(DecodeFailureRow(row + "x"));
  EXPECT_FALSE(DecodeFailureRow(row.substr(0, row.size() - 1)));
}

TEST_F(DiagnoseStandingsTest, AJobThatContinuesResolvesIt) {
  SendWindow(3);
  Send(Ended(2, 100, {.signal = SIGKILL}));
  SendWindow(4);
  SendWindow(5);
  EXPECT_THAT(context_.findings, SizeIs(1)) << "one window behind it may be that of the others";
  SendWindow(6);
  ASSERT_THAT(context_.findings, SizeIs(2));
  EXPECT_EQ(context_.findings[1].state, FindingState::kResolved);
}

TEST_F(DiagnoseStandingsTest, ARankThatLeftWithSuccessExplainsThoseThatFailAfterIt) {
  Send(Ended(2, 100, {.exit_code = 0}));
  Send(Ended(3, 102, {.exit_code = 1}));
  ASSERT_THAT(context_.findings, SizeIs(1));
  EXPECT_EQ(context_.findings[0].culprits[0].rank, 2);
}

// Three ranks wait for a fourth, which sends nothing. Where its process is known to have ended,
// that is said already.
TEST_F(DiagnoseStandingsTest, ARankThatHasEndedIsNotSilentToo) {
  for (const bool has_ended : {false, true}) {
    context_.findings.clear();
    processor_ = DiagnoseProcessor();
    ASSERT_TRUE(processor_.Init(context_).ok());
    StandingJob job(4);
    const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
    job.InFlight(dp, CollectiveOperation::kAllReduce, 41, {0, 1, 3});
    if (has_ended) Send(Ended(2, 985, {.signal = SIGKILL}));
    for (const RankStanding& standing : job.standings()) {
      if (standing.rank.value != 2) Send(standing);
    }
    ASSERT_TRUE(processor_.Punctuate(PunctuationType::kEndOfInput).ok());
    ASSERT_THAT(context_.findings, SizeIs(::testing::Ge(1u)));
    for (const Finding& finding : context_.findings)
      EXPECT_EQ(finding.subkind, has_ended ? kEndedProcess : "silent");
  }
}

}  // namespace
}  // namespace eroica
