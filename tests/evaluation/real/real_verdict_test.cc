#include "tests/evaluation/real/real_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/evaluation/score/testing/scored_runs.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Says;
using enum RealOutcome;

constexpr int32_t kNobody = -1;

// Eight ranks.
Variation All() { return {.ranks = {0, 1, 2, 3, 4, 5, 6, 7}}; }
Variation Half(uint32_t first) {
  return {.part = RecordedPart::kHalf, .ranks = {first, first + 2, first + 4, first + 6}};
}

RealJob SlowGemmOf(std::vector<uint32_t> ranks) {
  RealJob job;
  for (const uint32_t rank : ranks) job.expected.push_back(testing::SlowRank(rank).expected);
  return job;
}
RealJob Uneven() {
  RealJob job;
  job.expected = {{.kinds = {FindingKind::kImbalance}, .functions = {"gemm"}}};
  return job;
}

SaidFinding Titled(SaidFinding said, std::string title) {
  said.finding.title = std::move(title);
  return said;
}
SaidFinding SlowGemm(int32_t rank) { return Says(FindingKind::kSlowRank, rank); }
SaidFinding SlowNetwork() {
  return Titled(Says(FindingKind::kCommunication, kNobody, 0.6, ""),
                "The network holds all ranks up; which link is slow is undecided.");
}
SaidFinding WaitForUnrecorded() {
  return Titled(Says(FindingKind::kSlowRank, kNobody, 0.6, ""),
                "The ranks recorded all wait for ranks that are not.");
}

RealOutcome OutcomeOf(const RealJob& job, const Variation& variation,
                      const std::vector<SaidFinding>& said, const CaptureGaps& gaps = {}) {
  return JudgeReal(TruthOf(job, variation), said, gaps).outcome;
}

const CaptureGaps kCannotTell = {.sentences = {"Ranks 1, 3, 5 and 7 of 8 are not recorded."},
                                 .undecided = true};
const CaptureGaps kSuspects = {.sentences = {"The missing ranks are the first suspects."},
                               .undecided = true};

TEST(RealVerdict, AHealthyJobIsSilentOrWrong) {
  EXPECT_EQ(OutcomeOf({}, All(), {}), kRight);
  EXPECT_EQ(OutcomeOf({}, All(), {SlowGemm(3)}), kWrong);
  EXPECT_EQ(OutcomeOf({}, Half(0), {SlowNetwork()}), kWrong);
  EXPECT_EQ(OutcomeOf({}, Half(0), {WaitForUnrecorded()}), kWrong);
}

TEST(RealVerdict, WhoCannotTellBlamesNobody) {
  EXPECT_EQ(OutcomeOf({}, Half(0), {}, kCannotTell), kUnsure);
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3}), Half(0), {}, kCannotTell), kUnsure);
  EXPECT_EQ(OutcomeOf(SlowGemmOf({4}), Half(0), {SlowGemm(4)}, kCannotTell), kRight);
  EXPECT_EQ(OutcomeOf({}, Half(0), {Says(FindingKind::kMonitoringGap, kNobody)}), kRight)
      << "gaps of the telemetry are passed over";
}

TEST(RealVerdict, TheCulpritAndItsFunctionAreRight) {
  const RealJob job = SlowGemmOf({3});
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(3)}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kSlowRank, 3, 0.9, "softmax")}), kPartly);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kContention, 3)}), kPartly);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kStepTime, kNobody)}), kUnsure);
  EXPECT_EQ(OutcomeOf(job, All(), {}), kMissed);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(5)}), kWrong);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowNetwork()}), kWrong);
}

TEST(RealVerdict, OneWrongFindingMakesARunWrong) {
  const RealVerdict verdict =
      JudgeReal(TruthOf(SlowGemmOf({3}), All()), std::vector{SlowGemm(3), SlowNetwork()}, {});
  EXPECT_EQ(verdict.outcome, kWrong);
  EXPECT_THAT(verdict.wrong, ElementsAre(false, true));
}

TEST(RealVerdict, BlamingOthersBesideTheCulpritIsWrong) {
  SaidFinding both = SlowGemm(3);
  both.finding.culprits.push_back({.rank = 4});
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3}), All(), {both}), kWrong);
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3, 4}), All(), {both}), kPartly) << "one finding for two";
  SaidFinding path = Says(FindingKind::kCommunication, 3);
  path.finding.culprits[0].peer = 4;
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3}), All(), {path}), kWrong) << "the path to rank 4 is well";
  SaidFinding host = SlowGemm(3);
  host.finding.culprits = {{.host = "host0"}};
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3}), All(), {host}), kWrong);
}

TEST(RealVerdict, OfTwoFaultsBothAreToBeFound) {
  const RealJob job = SlowGemmOf({3, 4});
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(3), SlowGemm(4)}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(3)}), kPartly);
  EXPECT_EQ(OutcomeOf(job, All(), {}), kMissed);
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowGemm(4), WaitForUnrecorded()}), kRight);
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowGemm(4)}), kPartly);
}

TEST(RealVerdict, WithoutStacksNoFunctionHasToBeNamed) {
  Variation without = All();
  without.stacks = false;
  const RealJob job = SlowGemmOf({3});
  EXPECT_EQ(OutcomeOf(job, without, {Says(FindingKind::kSlowRank, 3, 0.9, "")}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kSlowRank, 3, 0.9, "")}), kPartly);
  EXPECT_EQ(OutcomeOf(job, without, {Says(FindingKind::kSlowRank, 3, 0.9, "softmax")}), kPartly);
  EXPECT_EQ(OutcomeOf(Uneven(), without, {Says(FindingKind::kImbalance, kNobody, 0.9, "")}),
            kRight);
}

TEST(RealVerdict, NobodyWhoIsRecordedIsBlamedForWhoIsNot) {
  const RealJob job = SlowGemmOf({3});
  EXPECT_EQ(OutcomeOf(job, Half(0), {}), kMissed);
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowGemm(4)}), kWrong);
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowNetwork()}), kWrong);
  EXPECT_EQ(OutcomeOf(job, Half(0), {WaitForUnrecorded()}), kRight);
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowGemm(3)}), kRight) << "the first suspect";
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowGemm(5)}), kWrong) << "another that is missing";
  SaidFinding missing = SlowGemm(1);
  missing.finding.culprits = {{.rank = 1}, {.rank = 3}, {.rank = 5}, {.rank = 7}};
  EXPECT_EQ(OutcomeOf(job, Half(0), {missing}), kRight);
  missing.finding.culprits.push_back({.rank = 2});
  EXPECT_EQ(OutcomeOf(job, Half(0), {missing}), kWrong);
  EXPECT_EQ(OutcomeOf(job, Half(1), {WaitForUnrecorded()}), kWrong) << "the culprit is recorded";
}

TEST(RealVerdict, MissingRanksAreSuspectedRightlyWhereOneOfThemIsAtFault) {
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3}), Half(0), {}, kSuspects), kRight);
  EXPECT_EQ(OutcomeOf(SlowGemmOf({3, 4}), Half(0), {SlowGemm(4)}, kSuspects), kRight);
  EXPECT_EQ(OutcomeOf(Uneven(), Half(0), {}, kSuspects), kRight);
  EXPECT_EQ(OutcomeOf({}, Half(0), {}, kSuspects), kWrong);
  EXPECT_EQ(OutcomeOf(SlowGemmOf({4}), Half(0), {}, kSuspects), kWrong);
  const RealVerdict verdict =
      JudgeReal(TruthOf(SlowGemmOf({4}), Half(0)), std::vector{SlowGemm(4)}, kSuspects);
  EXPECT_EQ(verdict.outcome, kPartly) << "who is at fault is recorded, and found";
  EXPECT_TRUE(verdict.wrong_suspects);
  EXPECT_THAT(verdict.wrong, ElementsAre(false));
}

TEST(RealVerdict, OfSeveralCulpritsThoseRecordedAreToBeFound) {
  RealJob job;
  job.expected = {{.kinds = {FindingKind::kHang}, .ranks = {3, 4}}};
  SaidFinding hang = Says(FindingKind::kHang, 4);
  EXPECT_EQ(OutcomeOf(job, Half(0), {hang}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {hang}), kPartly);
  hang.finding.culprits.push_back({.rank = 3});
  EXPECT_EQ(OutcomeOf(job, All(), {hang}), kRight);
  EXPECT_EQ(OutcomeOf(job, Half(0), {hang}), kPartly) << "the missing one is at fault, too";
  std::vector<SaidFinding> each = {Says(FindingKind::kHang, 4), Says(FindingKind::kHang, 3)};
  EXPECT_EQ(OutcomeOf(job, Half(0), each), kRight);
  each[1].finding.culprits.push_back({.rank = 5});
  EXPECT_EQ(OutcomeOf(job, Half(0), each), kRight) << "suspects among those missing";
  EXPECT_EQ(OutcomeOf(job, All(), each), kWrong);
}

TEST(RealVerdict, ANetworkAtFaultMayBeNamedWithoutItsLink) {
  RealJob job;
  job.expected = {{.kinds = {FindingKind::kCommunication}, .ranks = {3}, .peer_rank = 4}};
  SaidFinding link = Says(FindingKind::kCommunication, 3, 0.9, "");
  link.finding.culprits[0].peer = 4;
  EXPECT_EQ(OutcomeOf(job, All(), {link}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kCommunication, 3, 0.9, "")}), kPartly);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowNetwork()}), kUnsure);
  EXPECT_EQ(OutcomeOf(job, Half(0), {SlowNetwork()}), kUnsure);
  const SaidFinding slower = Says(FindingKind::kCommunication, kNobody, 0.9, "transfer");
  EXPECT_EQ(OutcomeOf(job, All(), {slower}), kPartly) << "nothing is said to be undecided";
  EXPECT_EQ(OutcomeOf(job, Half(0), {slower}), kPartly);
  EXPECT_EQ(OutcomeOf(job, Half(0), {link}), kRight) << "its other end tells";
  link.finding.culprits[0].peer = 5;
  EXPECT_EQ(OutcomeOf(job, All(), {link}), kWrong);
}

TEST(RealVerdict, WhereNobodyIsToBlameTheKindIsRight) {
  const RealJob job = Uneven();
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kImbalance, kNobody)}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kImbalance, kNobody, 0.9, "softmax")}),
            kPartly);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kStepTime, kNobody)}), kUnsure);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(3)}), kWrong);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowNetwork()}), kWrong);
  EXPECT_EQ(OutcomeOf(job, Half(0), {WaitForUnrecorded()}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {WaitForUnrecorded()}), kWrong) << "all are recorded";
  EXPECT_EQ(OutcomeOf(job, Half(0), {}), kMissed);
}

TEST(RealVerdict, WhereAllAreSlowerTheFunctionIsWhatIsBlamed) {
  RealJob job;
  job.expected = {{.kinds = {FindingKind::kRegression}, .functions = {"metrics"}}};
  const auto regression = [](std::string function) {
    return Says(FindingKind::kRegression, kNobody, 0.9, std::move(function));
  };
  EXPECT_EQ(OutcomeOf(job, All(), {regression("metrics")}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {regression("forward")}), kWrong);
  EXPECT_EQ(OutcomeOf(job, All(), {regression("")}), kPartly);
}

TEST(RealVerdict, WhatIsOverBeforeTheFaultBeginsIsWrong) {
  RealJob job = SlowGemmOf({3});
  job.from_step = 48;
  Variation variation = All();
  variation.window_steps = 16;
  SaidFinding early = SlowGemm(3);
  early.finding.last_window = 2;
  EXPECT_EQ(OutcomeOf(job, variation, {early}), kWrong);
  early.finding.last_window = 3;
  EXPECT_EQ(OutcomeOf(job, variation, {early}), kRight);
  variation.step_marks = StepMarks::kNone;
  early.finding.last_window = 0;
  EXPECT_EQ(OutcomeOf(job, variation, {early}), kRight) << "nobody knows which window that is";
}

TEST(RealVerdict, AnAlternativeIsAsRight) {
  RealJob job = SlowGemmOf({3});
  job.expected[0].alternatives = {{.kinds = {FindingKind::kContention}, .ranks = {4}}};
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(3)}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kContention, 4)}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(4)}), kPartly);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(5)}), kWrong);
  EXPECT_EQ(OutcomeOf(job, Half(0), {}), kMissed) << "of the two, rank 4 is recorded";
  EXPECT_EQ(OutcomeOf(job, Half(0), {Says(FindingKind::kContention, 4)}), kRight);
}

TEST(RealVerdict, WhatIsOptionalNeedNotBeSaidAndIsRightOrWrong) {
  RealJob job = SlowGemmOf({3});
  job.expected[0].optional = true;
  EXPECT_EQ(OutcomeOf(job, All(), {}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {SlowGemm(3)}), kRight);
  EXPECT_EQ(OutcomeOf(job, All(), {Says(FindingKind::kSlowRank, 3, 0.9, "softmax")}), kWrong);
  EXPECT_EQ(OutcomeOf(job, Half(0), {}, kCannotTell), kUnsure);
  EXPECT_EQ(OutcomeOf(job, Half(1), {}, kSuspects), kWrong);
}

TEST(RealTruth, IsWhatCanBeSeen) {
  const RealTruth all = TruthOf(SlowGemmOf({3, 4}), All());
  EXPECT_EQ(all.recorded.size(), 2u);
  EXPECT_THAT(all.unrecorded, IsEmpty());
  EXPECT_TRUE(all.all_recorded);
  const RealTruth half = TruthOf(SlowGemmOf({3, 4}), Half(0));
  ASSERT_EQ(half.recorded.size(), 1u);
  EXPECT_THAT(half.recorded[0].ranks, ElementsAre(4u));
  ASSERT_EQ(half.unrecorded.size(), 1u);
  EXPECT_THAT(half.unrecorded[0].ranks, ElementsAre(3u));
  EXPECT_THAT(half.guilty, ElementsAre(3u, 4u));
  EXPECT_FALSE(half.all_recorded);
  EXPECT_FALSE(half.healthy);
}

}  // namespace
}  // namespace eroica
