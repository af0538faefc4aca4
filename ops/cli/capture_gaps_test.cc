#include "ops/cli/capture_gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const JobCoverage kHealthy{.most_steps = 8, .step_ns = 100e6, .wait_ns = 20e6, .sees_waits = true};
const JobCoverage kHeldUp{.most_steps = 8,
                          .step_ns = 100e6,
                          .wait_ns = 45e6,
                          .collective_wait_ns = 45e6,
                          .common_wait_ns = 40e6,
                          .sees_waits = true};
const JobCoverage kPipeline{.most_steps = 8,
                            .step_ns = 100e6,
                            .wait_ns = 45e6,
                            .collective_wait_ns = 5e6,
                            .common_wait_ns = 2e6};

CaptureGaps Added(void (*add)(const JobCoverage&, CaptureGaps*), const JobCoverage& coverage) {
  CaptureGaps gaps;
  add(coverage, &gaps);
  return gaps;
}

ImportReport Whole() {
  ImportReport report;
  report.world_size = 4;
  report.ranks = {0, 1, 2, 3};
  report.ranks_with_steps = report.ranks_with_stacks = 4;
  report.collectives = 100;
  return report;
}

TEST(CaptureGaps, WithoutCollectivesNobodyKnowsWhoWaits) {
  ImportReport report = Whole();
  report.collectives = 0;
  const CaptureGaps none = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(none.undecided);
  EXPECT_THAT(none.sentences, ElementsAre(HasSubstr("No collective, send or receive was seen")));
  report.collectives = 60;
  report.collectives_unmatched = 40;
  const CaptureGaps few = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(few.undecided);
  EXPECT_THAT(few.sentences, ElementsAre(HasSubstr("Of 40 of 100 collectives it is not known")));
  report.collectives_unmatched = 1;
  EXPECT_FALSE(FindTraceGaps(report, kHealthy).undecided);
}

TEST(CaptureGaps, WhetherTheJobStandsAtTheEndMayBeOpen) {
  ImportReport report = Whole();
  report.ends_apart = true;
  const CaptureGaps gaps = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("or its traces end at different moments")));
}

TEST(CaptureGaps, AStepThatCostsATenthOfTheTimeIsNotSilent) {
  JobCoverage coverage = kHealthy;
  coverage.ranks = {0, 1};
  coverage.long_steps = {
      .steps = 1, .of_all = 9, .usual_ns = 170e6, .mean_ns = 1.17e9, .share = 0.4, .rank = 1};
  const CaptureGaps gaps = Added(AddLongSteps, coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences,
              ElementsAre(AllOf(HasSubstr("1 of 9 steps takes 1.17 s, against 170 ms as a rule"),
                                HasSubstr("Rank 1 is busy then"))));
  coverage.long_steps.share = 0.05;
  EXPECT_FALSE(Added(AddLongSteps, coverage).undecided);
}

TEST(CaptureGaps, ARankThatWorksOnWhatNobodyRecordedIsNotSilent) {
  JobCoverage coverage = kHealthy;
  coverage.ranks = {0, 1, 2, 3};
  coverage.step_ns = 150e6;
  coverage.wait_ns = 90e6;
  coverage.unrecorded = {.rank = 3, .ns = 60e6, .others_ns = 1e6};
  const CaptureGaps gaps = Added(AddUnrecordedWork, coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr(
                                  "Rank 3 works for 60.0 ms of each step of 150 ms (40 %) on what "
                                  "was not recorded, the other ranks for 1.00 ms")));
  for (const auto& [others_ns, wait_ns] : {std::pair(50e6, 90e6), std::pair(1e6, 20e6)}) {
    coverage.unrecorded.others_ns = others_ns;
    coverage.wait_ns = wait_ns;
    EXPECT_FALSE(Added(AddUnrecordedWork, coverage).undecided)
        << "others do as well, or nobody waits";
  }
}

TEST(CaptureGaps, AStageThatNoOtherRankHasIsComparedWithNobody) {
  JobCoverage coverage = kPipeline;
  coverage.ranks = {0, 1, 2, 3};
  coverage.busiest = {.rank = 2, .ns = 80e6, .others_ns = 50e6, .next_ns = 65e6};
  const CaptureGaps gaps = Added(AddStageAlone, coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("Rank 2 is busy for 80.0 ms of each step of "
                                                    "100 ms, every other rank for 65.0 ms")));
  coverage.busiest.next_ns = 78e6;
  EXPECT_FALSE(Added(AddStageAlone, coverage).undecided)
      << "the rank that has as much to do is its peer";
  coverage.busiest.next_ns = 73e6;
  EXPECT_TRUE(Added(AddStageAlone, coverage).undecided) << "devices";
  coverage.host_only = true;
  EXPECT_FALSE(Added(AddStageAlone, coverage).undecided) << "threads of a host";
  coverage.host_only = false;
  coverage.busiest.next_ns = 65e6;
  coverage.collective_wait_ns = coverage.wait_ns;
  EXPECT_FALSE(Added(AddStageAlone, coverage).undecided);
}

TEST(CaptureGaps, ARankThatIsBusierOnTheAverageIsNotSilent) {
  JobCoverage coverage = kHealthy;
  coverage.ranks = {0, 1, 2, 3};
  coverage.step_ns = 90e6;
  coverage.wait_ns = coverage.collective_wait_ns = 50e6;
  coverage.busiest = {.rank = 2, .ns = 65e6, .others_ns = 35e6};
  const CaptureGaps gaps = Added(AddBusiestRank, coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("Rank 2 is busy for 65.0 ms of each step of "
                                                    "90.0 ms on the average, the other ranks for "
                                                    "35.0 ms")));
  coverage.collective_wait_ns = 10e6;
  EXPECT_FALSE(Added(AddBusiestRank, coverage).undecided) << "stages have different work";
  coverage.collective_wait_ns = 50e6;
  coverage.busiest.others_ns = 60e6;
  EXPECT_FALSE(Added(AddBusiestRank, coverage).undecided);
}

TEST(CaptureGaps, WhatWasNotUsedIsNotSeen) {
  ImportReport report = Whole();
  report.files.resize(2);
  report.files[1] = {.path = "b.json", .refused = true, .warnings = {"a second trace of rank 1"}};
  EXPECT_FALSE(FindTraceGaps(report, kHealthy).undecided) << "no trace, such as a configuration";
  report.files[1].counts.events = 7;
  const CaptureGaps gaps = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre("b.json was not used: a second trace of rank 1."));
}

// Ranks whose waits are not known get no bound of "0 us (0.0 %)".
TEST(CaptureGaps, ThereIsNoBoundWhereNoWaitIsKnown) {
  ImportReport report = Whole();
  report.ranks = {0, 1};
  JobCoverage coverage = kHealthy;
  coverage.wait_ns = 0;
  const CaptureGaps gaps = FindTraceGaps(report, coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, Not(Contains(HasSubstr("the most by which"))));
}

TEST(CaptureGaps, AWholeCaptureHasNone) {
  JobCoverage coverage = kHeldUp;
  coverage.transfer_ns = 30e6;
  const CaptureGaps gaps = FindTraceGaps(Whole(), coverage);
  EXPECT_THAT(gaps.sentences, IsEmpty());
  EXPECT_FALSE(gaps.undecided);
}

// One ring alone: all members leave a collective when its slowest link is done.
TEST(CaptureGaps, WhereAllAreInCollectivesForLongTheirConnectionsSayWhy) {
  const CaptureGaps gaps = FindTraceGaps(Whole(), kHeldUp);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences,
              ElementsAre(AllOf(HasSubstr("All ranks are in collectives at once for 40.0 ms of "
                                          "each step of 100 ms (40 %)"),
                                HasSubstr("Record TCP_INFO of every rank"))));
  EXPECT_THAT(FindTraceGaps(Whole(), kHealthy).sentences, IsEmpty());
  EXPECT_THAT(FindTraceGaps(Whole(), kPipeline).sentences, IsEmpty()) << "a bubble";
}

// Where the times of transfers are known, links are compared by them.
void ExpectWorthALookWithoutTransfers(JobCoverage coverage, std::string_view sentence) {
  const CaptureGaps gaps = FindTraceGaps(Whole(), coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr(std::string(sentence))));
  coverage.transfer_ns = 3e6;
  EXPECT_FALSE(FindTraceGaps(Whole(), coverage).undecided);
}

TEST(CaptureGaps, BetweenHostsATenthOfTheStepIsWorthALook) {
  JobCoverage coverage = kHealthy;
  coverage.common_wait_ns = 12e6;
  coverage.hosts = 1;
  EXPECT_FALSE(FindTraceGaps(Whole(), coverage).undecided);
  coverage.hosts = 2;
  ExpectWorthALookWithoutTransfers(coverage, "(12 %), over 2 hosts, and what their");
}

// A pipeline over hosts: its ranks are in no collective at once.
TEST(CaptureGaps, ReceivesFromOtherHostsAreWorthALook) {
  JobCoverage coverage = kPipeline;
  coverage.hosts = 2;
  coverage.between_hosts_ns = 8e6;
  EXPECT_FALSE(FindTraceGaps(Whole(), coverage).undecided);
  coverage.between_hosts_ns = 12e6;
  ExpectWorthALookWithoutTransfers(coverage, "for 12.0 ms of each step of 100 ms (12 %), and what");
}

TEST(CaptureGaps, OfOneStepOrTwoNobodyKnowsWhatLasts) {
  JobCoverage coverage = kHealthy;
  coverage.ranks_with_steps = 4;
  coverage.most_steps = 1;
  const CaptureGaps one = FindTraceGaps(Whole(), coverage);
  EXPECT_TRUE(one.undecided);
  EXPECT_THAT(one.sentences, ElementsAre(AllOf(HasSubstr("No more than one step can be compared"),
                                               HasSubstr("Record ten steps and more"))));
  coverage.ranks = {0, 1};
  coverage.world_size = 2;
  coverage.most_steps = 2;
  EXPECT_THAT(FindLiveGaps(coverage).sentences, ElementsAre(HasSubstr("No more than 2 steps")));
  coverage.most_steps = 3;
  EXPECT_FALSE(FindTraceGaps(Whole(), coverage).undecided);
}

TEST(CaptureGaps, ARankThatIsNotRecordedCostsNoMoreThanTheOthersWait) {
  ImportReport report = Whole();
  report.ranks = {0, 1, 3};
  report.ranks_with_steps = report.ranks_with_stacks = 3;
  const CaptureGaps healthy = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(healthy.undecided);
  EXPECT_THAT(healthy.sentences,
              ElementsAre(AllOf(HasSubstr("rank 2 of 4 is not recorded"), HasSubstr("20.0 ms"),
                                HasSubstr("that is the most by which they are held up"),
                                Not(HasSubstr("suspect")))));
  const CaptureGaps bubble = FindTraceGaps(report, kPipeline);
  EXPECT_THAT(bubble.sentences,
              ElementsAre(AllOf(HasSubstr("45.0 ms"), Not(HasSubstr("suspect")))));
  const CaptureGaps held_up = FindTraceGaps(report, kHeldUp);
  EXPECT_TRUE(held_up.undecided);
  EXPECT_THAT(held_up.sentences, ElementsAre(HasSubstr("The missing rank is the first suspect")));
}

TEST(CaptureGaps, WhereTransfersFillTheWaitNobodyNeedsToBeLate) {
  ImportReport report = Whole();
  report.ranks = {0, 1, 3};
  JobCoverage coverage = kHeldUp;
  coverage.transfer_ns = 1.2 * coverage.common_wait_ns;
  EXPECT_THAT(FindTraceGaps(report, coverage).sentences,
              ElementsAre(AllOf(HasSubstr("what they exchange may take that long, or the missing"),
                                Not(HasSubstr("suspect")))));
  coverage.transfer_ns = 0.5 * coverage.common_wait_ns;
  EXPECT_THAT(FindTraceGaps(report, coverage).sentences, ElementsAre(HasSubstr("first suspect")));
}

TEST(CaptureGaps, WhereARecordedRankHardlyWaitsTheMissingOnesAreNoSuspects) {
  ImportReport report = Whole();
  report.ranks = {0, 1, 3};
  JobCoverage coverage = kHeldUp;
  coverage.common_wait_ns = 10e6;
  const CaptureGaps gaps = FindTraceGaps(report, coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, Not(Contains(HasSubstr("suspect"))));
}

TEST(CaptureGaps, OfOneRankNobodyKnowsWhatItUsuallyWaits) {
  ImportReport report = Whole();
  report.ranks = {0};
  const CaptureGaps gaps = FindTraceGaps(report, kHeldUp);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, Not(Contains(HasSubstr("suspect"))));
}

TEST(CaptureGaps, RanksOfALargeJobAreListedShortly) {
  ImportReport report = Whole();
  report.world_size = 100'000;
  const CaptureGaps gaps = FindTraceGaps(report, {});
  EXPECT_THAT(gaps.sentences,
              ElementsAre(HasSubstr("ranks 4 to 99999 of 100000 are not recorded")));
}

TEST(CaptureGaps, ARankAloneHasNoPeers) {
  ImportReport report = Whole();
  report.world_size = 1;
  report.ranks = {0};
  report.ranks_with_steps = report.ranks_with_stacks = 1;
  const CaptureGaps gaps = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("one rank")));
}

TEST(CaptureGaps, WithoutStepMarksNothingIsSeenToLast) {
  ImportReport report = Whole();
  report.ranks_with_steps = 0;
  const CaptureGaps none = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(none.undecided);
  EXPECT_THAT(none.sentences, ElementsAre(HasSubstr("prof.step()")));
  report.ranks_with_steps = 3;
  const CaptureGaps some = FindTraceGaps(report, kHealthy);
  EXPECT_FALSE(some.undecided);
  EXPECT_THAT(some.sentences, ElementsAre(HasSubstr("1 of 4 traces")));
}

TEST(CaptureGaps, WithoutStacksTheJobIsJudgedAllTheSame) {
  ImportReport report = Whole();
  report.ranks_with_stacks = 0;
  const CaptureGaps gaps = FindTraceGaps(report, kHealthy);
  EXPECT_FALSE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("with_stack=True")));
}

TEST(CaptureGaps, AJobOfWhichNothingWasRecordedIsNotHealthy) {
  const CaptureGaps gaps = FindLiveGaps({});
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("eroica check")));
}

TEST(CaptureGaps, ALiveJobIsWholeWithAllRanksAndSteps) {
  JobCoverage coverage{.world_size = 3,
                       .ranks = {0, 1, 2},
                       .ranks_with_steps = 3,
                       .most_steps = 3,
                       .sees_waits = true};
  EXPECT_THAT(FindLiveGaps(coverage).sentences, IsEmpty());
  coverage.ranks = {0, 2};
  EXPECT_THAT(FindLiveGaps(coverage).sentences,
              ElementsAre(HasSubstr("rank 1 of 3 is not recorded")));
  coverage.ranks_with_steps = 0;
  EXPECT_THAT(
      FindLiveGaps(coverage).sentences,
      ElementsAre(HasSubstr("There is no window of rank 1 of 3:"), HasSubstr("eroica.step()")));
}

// They exchange data in the host's memory.
TEST(CaptureGaps, BetweenRanksOnTheProcessorsOfOneHostThereIsNoNetwork) {
  JobCoverage coverage = kHeldUp;
  coverage.world_size = 3;
  coverage.ranks = {0, 1, 2};
  coverage.ranks_with_steps = 3;
  coverage.hosts = 1;
  coverage.host_only = true;
  EXPECT_FALSE(FindLiveGaps(coverage).undecided);
  coverage.hosts = 2;
  EXPECT_TRUE(FindLiveGaps(coverage).undecided);
  coverage.hosts = 1;
  coverage.host_only = false;
  EXPECT_TRUE(FindLiveGaps(coverage).undecided) << "devices may be joined by a slow link";
}

// eroica.step() alone, in a program without known waits.
TEST(CaptureGaps, StepsWithoutAWaitDoNotShowWhoIsLate) {
  JobCoverage coverage{.world_size = 3, .ranks = {0, 1, 2}, .ranks_with_steps = 3, .most_steps = 3};
  const CaptureGaps gaps = FindLiveGaps(coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(AllOf(HasSubstr("No collective was seen"),
                                                HasSubstr("eroica.collective()"))));
  coverage.world_size = 1;
  coverage.ranks = {0};
  EXPECT_FALSE(FindLiveGaps(coverage).undecided) << "alone it waits for nobody";
}

TEST(CaptureGaps, WithoutStepsItIsSaidWhatAScriptSays) {
  JobCoverage coverage{.world_size = 2, .ranks = {0, 1}};
  EXPECT_THAT(FindLiveGaps(coverage).sentences,
              ElementsAre(AllOf(HasSubstr("eroica.step()"), HasSubstr("eroica.collective()"))));
  coverage.sees_waits = true;
  EXPECT_THAT(FindLiveGaps(coverage).sentences,
              ElementsAre(AllOf(HasSubstr("eroica.step()"), Not(HasSubstr("collective")))));
}

TEST(CaptureGaps, ARankOfWhichFewStepsWereRecordedIsNotSeenWhole) {
  JobCoverage coverage{.world_size = 4,
                       .ranks = {0, 1, 2, 3},
                       .ranks_with_steps = 3,
                       .steps = 250,
                       .partly = {{.rank = 0, .steps = 3}, {.rank = 2, .steps = 240}},
                       .most_steps = 32,
                       .sees_waits = true};
  const CaptureGaps gaps = FindLiveGaps(coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("Of rank 0 of 4 only 3 of 250 steps")));
  coverage.partly = {{.rank = 0, .steps = 3}, {.rank = 2, .steps = 0}};
  EXPECT_THAT(FindLiveGaps(coverage).sentences,
              ElementsAre(HasSubstr("There is no training step of rank 2 of 4, and up to 250"),
                          HasSubstr("Of rank 0 of 4 only 3 of 250 steps")));
  coverage.partly = {{.rank = 0, .steps = 3}, {.rank = 2, .steps = 40}};
  EXPECT_THAT(FindLiveGaps(coverage).sentences,
              ElementsAre(HasSubstr("Of ranks 0 and 2 of 4 as few as 3 of 250 steps")));
  coverage.steps = 64;  // the job runs, and the rank is a window behind
  coverage.partly = {{.rank = 2, .steps = 32}};
  EXPECT_THAT(FindLiveGaps(coverage).sentences, IsEmpty());
}

TEST(CaptureGaps, ProcessesThatAreTheSameRankAreNotAWholeJob) {
  JobCoverage coverage{.world_size = 1, .ranks = {0}, .ranks_with_steps = 1, .most_steps = 32};
  coverage.stopped = {{.gap = {CaptureKind::kProcesses, 3}, .ranks = {0}, .share = 0.2}};
  const CaptureGaps gaps = FindLiveGaps(coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences,
              ElementsAre(AllOf(HasSubstr("3 more processes say that they are rank 0"),
                                HasSubstr("Set EROICA_RANK"))));
}

TEST(CaptureGaps, ProcessesOfSeveralHostsThatAreOneRankAreNotAWholeJob) {
  JobCoverage coverage{.world_size = 4,
                       .ranks = {0, 1, 2, 3},
                       .ranks_with_steps = 4,
                       .most_steps = 32,
                       .sees_waits = true};
  coverage.contested = {{.rank = 0, .processes = 2, .hosts = {"a", "b"}}};
  const CaptureGaps gaps = FindLiveGaps(coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences,
              ElementsAre(AllOf(HasSubstr("2 processes say that they are rank 0 (hosts a, b)"),
                                HasSubstr("Set EROICA_RANK"))));
  std::vector<std::string> hosts;
  for (const char letter : std::string("abcdefghijk")) hosts.push_back({letter});
  coverage.contested = {{.rank = 0, .processes = 11, .hosts = hosts},
                        {.rank = 1, .processes = 11, .hosts = hosts},
                        {.rank = 3, .processes = 2, .hosts = {"c"}}};
  EXPECT_THAT(FindLiveGaps(coverage).sentences,
              ElementsAre(HasSubstr("2 processes say that they are rank 3 (host c)"),
                          HasSubstr("11 processes say that they are each of ranks 0 and 1 (hosts "
                                    "a, b, c, d, e, f, g, h and 3 more)")));
}

TEST(CaptureGaps, AMaskOf0IsNoJobWithoutCollectives) {
  JobCoverage coverage{.world_size = 3,
                       .ranks = {0, 1, 2},
                       .ranks_with_steps = 3,
                       .most_steps = 3,
                       .sees_waits = true};
  coverage.stopped = {{.gap = {CaptureKind::kCollectives, 0},
                       .ranks = {0, 1, 2},
                       .share = 0.8,
                       .first_step = 4,
                       .last_step = 20}};
  const CaptureGaps gaps = FindLiveGaps(coverage);
  EXPECT_TRUE(gaps.undecided);
  EXPECT_THAT(gaps.sentences,
              ElementsAre(HasSubstr("Collectives of ranks 0 to 2 were not captured from step 4 to "
                                    "20, for up to 80 % of the time: NCCL's activation mask was "
                                    "set to 0 from outside.")));
  // torch.profiler, for a while.
  coverage.stopped = {
      {.gap = {CaptureKind::kDeviceWork, 0}, .ranks = {1}, .share = 0.1, .first_step = 4}};
  EXPECT_FALSE(FindLiveGaps(coverage).undecided);
  EXPECT_THAT(FindTraceGaps(Whole(), coverage).sentences,
              Contains(HasSubstr("Kernels and copies of rank 1 were not captured")));
}

TEST(CaptureGaps, OfATraceThatIsCutOffNobodyKnowsWhatCameBehind) {
  ImportReport report = Whole();
  report.files.resize(3);
  for (size_t i = 0; i < report.files.size(); ++i)
    report.files[i].path = "rank" + std::to_string(i) + ".json";
  EXPECT_FALSE(FindTraceGaps(report, kHealthy).undecided);
  report.files[1].counts.skipped.Add(DropReason::kTruncatedInput);
  const CaptureGaps one = FindTraceGaps(report, kHealthy);
  EXPECT_TRUE(one.undecided);
  EXPECT_THAT(one.sentences, ElementsAre(HasSubstr("rank1.json is cut off")));
  report.files[2].counts.skipped.Add(DropReason::kTruncatedInput);
  EXPECT_THAT(FindTraceGaps(report, kHealthy).sentences,
              ElementsAre(HasSubstr("rank1.json and 1 more traces are cut off")));
}

// A job that writes dumps stood: without a finding it is not called healthy.
TEST(CaptureGaps, DumpsAloneNeverShowThatAJobIsWell) {
  ImportReport report = Whole();
  report.stalled_only = true;
  EXPECT_TRUE(FindTraceGaps(report, {}).undecided);
  report.left_open = {"Nothing is in flight in any dump."};
  EXPECT_THAT(FindTraceGaps(report, {}).sentences, ElementsAre(report.left_open[0]));
  EXPECT_THAT(StandstillWithoutReason().sentences, ElementsAre(HasSubstr("in flight")));
  EXPECT_TRUE(StandstillWithoutReason().undecided);
}

}  // namespace
}  // namespace eroica
