// The smallest standstill of each kind, the nearest that is none, and what must not change the
// verdict.
#include "diagnosis/hang/hang_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "diagnosis/hang/evaluated_job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
constexpr auto kAllGather = CollectiveOperation::kAllGather;

// Rank 2 of four is in the function, and has not launched what the others wait in.
StandingJob WithoutRank2(const std::string& function) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.Completed(dp, kAllReduce, 41, {2}).InFlight(dp, kAllReduce, 41, {0, 1, 3}).In(2, function);
  return job;
}

TEST(HangOperator, NamesTheRankThatNeverLaunched) {
  const StandingJob job = WithoutRank2("queue.py: put");
  const Finding finding = Only(job);
  EXPECT_EQ(finding.kind, FindingKind::kHang);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_THAT(Culprits(finding), ElementsAre(2));
  EXPECT_EQ(finding.culprits[0].host, "node-0");
  EXPECT_EQ(finding.culprits[0].device, 2);
  EXPECT_THAT(Victims(finding), ElementsAre(0, 1, 3));
  EXPECT_EQ(finding.victims[0].lost_ns, 20 * StandingJob::kSecond);
  EXPECT_EQ(finding.function, "queue.py: put");
  EXPECT_EQ(finding.stack, "train.py: main");
  EXPECT_EQ(finding.severity, Severity::kCritical);
  EXPECT_EQ(finding.confidence, 0.95);
  EXPECT_EQ(finding.first_step, 42);
  EXPECT_EQ(finding.first_window, 4);
  EXPECT_EQ(finding.first_seen_ns, 980 * StandingJob::kSecond + 3) << "the last that got on";
  EXPECT_EQ(finding.last_seen_ns, 1000 * StandingJob::kSecond + 3);
  EXPECT_EQ(finding.lost_gpu_seconds_per_hour, 4 * 3600);
  EXPECT_EQ(finding.id, FindingId(finding));
  EXPECT_EQ(finding.title,
            "The job hangs for 20.0 s: rank 2 never launched all_reduce number 41 of group dp (its "
            "training "
            "thread is in queue.py: put), 3 ranks wait "
            "for it.");
  EXPECT_THAT(finding.chain, SizeIs(1));
  EXPECT_EQ(finding.chain[0].description,
            "ranks 0, 1 and 3 wait in all_reduce number 41 of group dp, without rank 2");
  EXPECT_THAT(finding.caveats, IsEmpty());
  EXPECT_EQ(finding.evidence[1].name, "launched");
  EXPECT_EQ(finding.evidence[1].culprit, 41);
  EXPECT_EQ(finding.evidence[1].peers, 42);
}

TEST(HangOperator, ARankThatWaitsForABatchIsHeldUpByItsWorker) {
  StandingJob job = WithoutRank2("data.py(9): decode");
  job[2].stack =
      "(waiting for the data loader's 2 workers, dataset Slow, data.py:3) > data.py(3): "
      "__getitem__";
  EXPECT_THAT(
      Only(job).title,
      HasSubstr("number 41 of group dp (its data loader's worker is in data.py(9): decode)"));
}

TEST(HangOperator, WhileACompilerRunsTheJobDoesNotHang) {
  StandingJob job = WithoutRank2("subprocess.py(1165): communicate");
  job[2].stack =
      "train.py(1): <module>\ntorch/_dynamo/convert_frame.py(1500): __call__\n"
      "torch/_inductor/compile_fx.py(800): compile_fx_inner";
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "compiling");
  EXPECT_EQ(finding.severity, Severity::kMinor);
  EXPECT_THAT(Culprits(finding), ElementsAre(2));
  EXPECT_EQ(finding.title,
            "Rank 2 compiles for 20.0 s: it has not launched all_reduce number 41 of group dp yet, "
            "3 ranks wait for it.");
  EXPECT_THAT(finding.suggested_action, ::testing::Not(HasSubstr("restart")));
  job[2].stack = "train.py(1): <module>\ntorch/_dynamo/eval_frame.py(700): _fn";
  EXPECT_EQ(Only(job).subkind, "never_launched") << "compiled code runs";
}

TEST(HangOperator, IsSilentWhereNobodyWaitsForAnybody) {
  StandingJob job(4);
  job.Group("dp", {0, 1, 2, 3});
  EXPECT_THAT(Evaluate(job), IsEmpty());
  EXPECT_THAT(HangOperator().Evaluate(
                  {.job = JobId{"job"}, .world_size = 4, .standings = {}, .silent = {}}),
              IsEmpty());
}

TEST(HangOperator, AWaitInAnotherCommunicatorMakesAVictim) {
  StandingJob job(6);
  const uint16_t tp0 = job.Group("tp0", {0, 1});
  const uint16_t tp1 = job.Group("tp1", {2, 3});
  const uint16_t dp = job.Group("dp", {1, 3, 4, 5});
  job.InFlight(tp0, kAllReduce, 7, {0})
      .InFlight(dp, kAllReduce, 3, {1, 4, 5})
      .InFlight(tp1, kAllReduce, 9, {3})
      .In(2, "sleep");
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_THAT(Culprits(finding), ElementsAre(2))
      << "1 and 3 are late too, because they wait for it";
  EXPECT_THAT(Victims(finding), ElementsAre(0, 1, 3, 4, 5));
  ASSERT_THAT(finding.chain, SizeIs(3));
  EXPECT_EQ(finding.chain[0].description,
            "rank 3 waits in all_reduce number 9 of group tp1, without rank 2");
  EXPECT_EQ(finding.chain[1].description,
            "ranks 1, 4 and 5 wait in all_reduce number 3 of group dp, without rank 3");
}

// A dump is missing: what others wait for in it is no news where the rank may stand in an operation
// that somebody is known to hold up.
TEST(HangOperator, ASilentRankIsNotBlamedWhereItMayStandAsOthersDo) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  const uint16_t pp = job.Group("pp", {2, 3});
  job.Completed(dp, kAllReduce, 41, {1})
      .InFlight(dp, kAllReduce, 41, {0})
      .InFlight(pp, kAllReduce, 7, {3})
      .Silence(2);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "never_launched");
  EXPECT_THAT(Culprits(findings[0]), ElementsAre(1));
}

// Rank 4 waits to receive from a rank whose dump is missing; that one may wait for the rank that
// never launched what the others wait in, in a receive of its own.
TEST(HangOperator, ASilentRankIsNotBlamedBesideWhoHoldsUpMore) {
  StandingJob job(6);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  const uint16_t pp = job.Group("pp", {4, 5});
  job.InFlight(dp, kAllReduce, 41, {0, 1, 2}).In(3, "sleep").Receive(pp, 4, 5).Silence(5);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(Culprits(findings[0]), ElementsAre(3));
}

TEST(HangOperator, NamesTheRankThatIsSilent) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}).Silence(1);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "silent");
  EXPECT_THAT(Culprits(finding), ElementsAre(1));
  EXPECT_THAT(Victims(finding), ElementsAre(0, 2));
  EXPECT_THAT(finding.title, HasSubstr("rank 1 is silent"));
  EXPECT_EQ(finding.ranks_seen, 2u);
  EXPECT_THAT(finding.caveats, ElementsAre("A rank whose telemetry alone is lost looks the same."));
}

TEST(HangOperator, ASilentRankThatNobodyWaitsForIsNotToBlame) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}).Silence(3);
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1));
}

TEST(HangOperator, AllThereIsTheCommunication) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 1, 2});
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "communication");
  EXPECT_THAT(finding.culprits, IsEmpty());
  EXPECT_THAT(Victims(finding), ElementsAre(0, 1, 2));
  EXPECT_EQ(finding.function, "all_reduce");
  EXPECT_THAT(finding.caveats, ElementsAre(HasSubstr("Which link is stalled is undecided")));
}

TEST(HangOperator, OfATransferBetweenTwoTheLinkIsKnown) {
  StandingJob job(3);
  const uint16_t pp = job.Group("pp", {0, 1, 2});
  job.Send(pp, 0, 1).Receive(pp, 1, 0).Receive(pp, 2, 1);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "communication");
  ASSERT_THAT(finding.culprits, SizeIs(1));
  EXPECT_EQ(finding.culprits[0].rank, 0);
  EXPECT_EQ(finding.culprits[0].peer, 1);
  EXPECT_THAT(Victims(finding), ElementsAre(2));
  EXPECT_THAT(finding.title, HasSubstr("the send from rank 0 to rank 1 over pp is stalled"));
}

TEST(HangOperator, NamesTheRankInAnotherCollective) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.InFlight(dp, kAllReduce, 41, {0, 2, 3}).InFlight(dp, kAllGather, 5, {1});
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "mismatch");
  EXPECT_THAT(Culprits(finding), ElementsAre(1));
  EXPECT_THAT(Victims(finding), ElementsAre(0, 2, 3));
  EXPECT_THAT(finding.title, HasSubstr("rank 1 in all_gather number 5 of group dp"));
  EXPECT_EQ(finding.confidence, 0.95);
}

// As a flight recorder counts: one sequence for all kinds.
TEST(HangOperator, TheSameSequenceAndAnotherOperation) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}).InFlight(dp, CollectiveOperation::kBroadcast, 41, {1});
  EXPECT_EQ(Only(job).subkind, "mismatch");
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1));
}

TEST(HangOperator, OneAgainstOneIsUndecided) {
  StandingJob job(2);
  const uint16_t dp = job.Group("dp", {0, 1});
  job.InFlight(dp, kAllReduce, 41, {0}).InFlight(dp, kAllGather, 5, {1});
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "mismatch");
  EXPECT_THAT(Culprits(finding), ElementsAre(0, 1));
  EXPECT_EQ(finding.confidence, 0.5);
  EXPECT_THAT(finding.explanation, HasSubstr("No side is the smaller one"));
}

TEST(HangOperator, OneAgainstOneTheOperationThatNoStepHadIsWrong) {
  StandingJob job(2);
  const uint16_t dp = job.Group("dp", {0, 1});
  job.InFlight(dp, kAllReduce, 41, {0}).InFlight(dp, kAllGather, 0, {1});
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "mismatch");
  EXPECT_THAT(Culprits(finding), ElementsAre(1));
  EXPECT_EQ(finding.confidence, 0.85);
  EXPECT_THAT(finding.explanation, HasSubstr("No step before had such an operation"));
  for (uint32_t rank = 0; rank < 2; ++rank)
    job[rank].last_step = -1;  // in the first step every operation is the first
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(0, 1));
}

TEST(HangOperator, AMismatchBlamesNobodyWhoWaitsElsewhereForIt) {
  StandingJob job(6);
  const uint16_t tp = job.Group("tp", {4, 5});
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  const uint16_t world = job.Group("world", {0, 1, 2, 3, 4, 5});
  job.InFlight(dp, kAllReduce, 41, {0, 2, 3})
      .InFlight(world, CollectiveOperation::kBarrier, 1, {1, 4})
      .InFlight(tp, kAllReduce, 3, {5});
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "mismatch");
  EXPECT_THAT(Culprits(finding), ElementsAre(1, 4)) << "both entered the barrier";
}

TEST(HangOperator, NamesTheRankWithAnotherSize) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.InFlight(dp, kAllReduce, 41, {0, 1, 3}).InFlight(dp, kAllReduce, 41, {2}, true, 32);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "mismatch");
  EXPECT_THAT(Culprits(finding), ElementsAre(2));
  EXPECT_THAT(finding.title, HasSubstr("with another size"));
}

TEST(HangOperator, PiecesOfAnExchangeMayDiffer) {
  StandingJob job(2);
  const uint16_t ep = job.Group("ep", {0, 1});
  job.InFlight(ep, CollectiveOperation::kAllToAll, 41, {0})
      .InFlight(ep, CollectiveOperation::kAllToAll, 41, {1}, true, 32);
  EXPECT_EQ(Only(job).subkind, "communication");
}

TEST(HangOperator, WhatIsLaunchedAndDoesNotStartIsTheRanksOwnDevice) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}).InFlight(dp, kAllReduce, 41, {1}, false);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "device");
  EXPECT_THAT(Culprits(finding), ElementsAre(1));
  EXPECT_THAT(Victims(finding), ElementsAre(0, 2));
}

// Dumps without starts: what lies behind the first in the queue waits for nobody yet.
TEST(HangOperator, WithoutStartsTheOldestInFlightCounts) {
  StandingJob job(4);
  const uint16_t tp = job.Group("tp", {0, 1});
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.InFlight(tp, kAllReduce, 7, {0}, false)
      .InFlight(dp, kAllReduce, 41, {0, 2, 3}, false)
      .In(1, "sleep");
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_THAT(Culprits(finding), ElementsAre(1));
  EXPECT_THAT(Victims(finding), ElementsAre(0, 2, 3));
}

TEST(HangOperator, WhatThePeersCompletedIsTheRanksOwnDevice) {
  StandingJob job(4);
  const uint16_t tp = job.Group("tp", {0, 1});
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.InFlight(tp, kAllReduce, 7, {0}, false)
      .Completed(tp, kAllReduce, 8, {1})
      .InFlight(dp, kAllReduce, 41, {0, 1, 2, 3}, false);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "device");
  EXPECT_THAT(Culprits(finding), ElementsAre(0));
  EXPECT_THAT(Victims(finding), ElementsAre(1, 2, 3));
  EXPECT_THAT(finding.explanation, HasSubstr("rank 1 completed all_reduce number 7 of group tp"));
}

TEST(HangOperator, AReceivePostedAheadHoldsNobody) {
  StandingJob job(3);
  const uint16_t pp = job.Group("pp", {0, 1});
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.Receive(pp, 0, 1).InFlight(dp, kAllReduce, 41, {1, 2}).In(0, "queue.py: put");
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_THAT(Culprits(finding), ElementsAre(0));
  EXPECT_EQ(finding.function, "queue.py: put");
}

TEST(HangOperator, TwoWhoNeverLaunchedAreOneHang) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.InFlight(dp, kAllReduce, 41, {0, 2});
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1, 3));
}

TEST(HangOperator, TwoKindsAreTwoFindings) {
  StandingJob job(5);
  const uint16_t a = job.Group("a", {0, 1});
  const uint16_t b = job.Group("b", {2, 3});
  job.InFlight(a, kAllReduce, 41, {0}).InFlight(b, kAllReduce, 4, {2}).Silence(3);
  const std::vector<Finding> findings = Evaluate(job);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(Culprits(findings[0]), ElementsAre(1));
  EXPECT_THAT(Victims(findings[0]), ElementsAre(0));
  EXPECT_THAT(Culprits(findings[1]), ElementsAre(3));
  EXPECT_THAT(Victims(findings[1]), ElementsAre(2));
}

TEST(HangOperator, ARankWhoseCollectivesAreNotCapturedIsDoubted) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.Completed(dp, kAllReduce, 41, {2}).InFlight(dp, kAllReduce, 41, {0, 1, 3});
  job[2].collectives_suspended = true;
  const Finding finding = Only(job);
  EXPECT_EQ(finding.confidence, 0.5);
  EXPECT_THAT(
      finding.caveats,
      ::testing::Contains(HasSubstr("Undecided: the collectives of rank 2 are not captured")));
  job[2].collectives_suspended = false;
  job[0].collectives_suspended = true;
  EXPECT_EQ(Only(job).confidence, 0.95) << "who waits is known to";
}

TEST(HangOperator, OfDumpsNoDurationIsSaid) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}, false);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    job[rank].timed_out = true;
    job[rank].last_step = -1;
  }
  const Finding finding = Only(job);
  EXPECT_EQ(finding.title,
            "The job hangs: rank 1 never launched all_reduce number 41 of group dp, 2 ranks wait "
            "for it.");
  EXPECT_THAT(finding.caveats,
              ElementsAre(HasSubstr("flight recorder"), HasSubstr("written before those")));
}

TEST(HangOperator, OfTracesThatEndInItTheDurationIsKnown) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}, false);
  for (uint32_t rank = 0; rank < 3; ++rank) job[rank].timed_out = true;
  const Finding finding = Only(job);
  EXPECT_THAT(finding.title, HasSubstr("The job hangs for 20.0 s: rank 1 never launched"));
  EXPECT_THAT(finding.caveats, ElementsAre(HasSubstr("how the traces end")));
}

TEST(HangOperator, MembersAreThoseWhoKnowTheCommunicatorWhereNobodyListsThem) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2});
  for (uint32_t rank = 0; rank < 3; ++rank) job[rank].communicators[0].ranks.clear();
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1));
}

TEST(HangOperator, UnknownPeersAreLeftOut) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}, false);
  job[0].in_flight.insert(job[0].in_flight.begin(),
                          {.communicator = 0, .operation = CollectiveOperation::kRecv, .peer = -1});
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1));
}

TEST(HangOperator, MoreHealthyGroupsChangeNothing) {
  StandingJob job(256);
  std::vector<uint32_t> all;
  for (uint32_t rank = 0; rank < 256; ++rank) all.push_back(rank);
  std::vector<uint16_t> groups;
  for (uint32_t rank = 0; rank < 256; rank += 2)
    groups.push_back(job.Group("tp", {rank, rank + 1}));
  const uint16_t world = job.Group("world", all);
  for (uint32_t rank = 0; rank < 256; ++rank) {
    if (rank / 2 != 77) job.InFlight(world, kAllReduce, 9, {rank});
  }
  job.InFlight(groups[77], kAllReduce, 5, {154});
  const Finding finding = Only(job);
  EXPECT_THAT(Culprits(finding), ElementsAre(155));
  EXPECT_THAT(finding.victims, SizeIs(255));
}

}  // namespace
}  // namespace eroica
