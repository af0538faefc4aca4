// Standstills as flight-recorder dumps tell of them: nobody reports, starts may be unknown, batches
// are one kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/hang/evaluated_job.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Standings as dumps give them: no rank reports, and starts are known or not.
void AreOfDumps(StandingJob& job, bool starts_unknown) {
  for (uint32_t rank = 0; rank < job.standings().size(); ++rank) {
    job[rank].timed_out = true;
    job[rank].last_step = -1;
    job[rank].starts_unknown = starts_unknown;
  }
}

TEST(HangOfDumps, WithoutStartsADeviceAndTheNetworkLookTheSame) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 1, 2}, false);
  AreOfDumps(job, true);
  job.MovedBy(CollectiveLibrary::kNccl);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "stalled");
  EXPECT_THAT(finding.culprits, IsEmpty());
  EXPECT_THAT(Victims(finding), ElementsAre(0, 1, 2));
  EXPECT_EQ(finding.confidence, 0.5);
  EXPECT_THAT(finding.title, HasSubstr("cannot tell"));
  EXPECT_THAT(finding.suggested_action, HasSubstr("TORCH_NCCL_ENABLE_TIMING=1"));
}

// Dumps that may be copies of those of a job that ran.
TEST(HangOfDumps, WhereNothingShowsThatTheJobStoodItIsUndecided) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 1}, false);
  AreOfDumps(job, true);
  EXPECT_EQ(Only(job).severity, Severity::kCritical);
  job[0].moment_unknown = true;
  const Finding finding = Only(job);
  EXPECT_EQ(finding.severity, Severity::kMinor);
  EXPECT_THAT(finding.title, StartsWith("The job may hang: rank 2 never launched"));
  EXPECT_EQ(finding.confidence, 0.5);
  EXPECT_THAT(finding.caveats, Contains(HasSubstr("Undecided")));
}

// Rank 1 has started, rank 2 recorded no starts: that its collective is not started says nothing.
TEST(HangOfDumps, OneRankWithoutStartsIsNoDeviceThatStands) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 1}).InFlight(dp, kAllReduce, 41, {2}, false);
  AreOfDumps(job, false);
  EXPECT_EQ(Only(job).subkind, "device");
  job[2].starts_unknown = true;
  EXPECT_EQ(Only(job).subkind, "stalled");
}

// Rank 1 sends to and receives from 0 and 2 as one kernel; rank 2 never came.
TEST(HangOfDumps, OfOneKernelAllEndTogether) {
  StandingJob job(3);
  const uint16_t pp = job.Group("pp", {0, 1, 2});
  job.Send(pp, 1, 0, false).Receive(pp, 1, 0, false).Send(pp, 1, 2, false).Receive(pp, 1, 2, false);
  job.Send(pp, 0, 1, false).Receive(pp, 0, 1, false);
  AreOfDumps(job, true);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    for (InFlightCollective& row : job[rank].in_flight)
      row.launched_ns = 980 * StandingJob::kSecond;
  }
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_THAT(Culprits(finding), ElementsAre(2));
  EXPECT_THAT(Victims(finding), ElementsAre(0, 1));
}

TEST(HangOfDumps, OneAheadOrTheOthersBehind) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.Completed(dp, kAllReduce, 42, {1, 2, 3}).InFlight(dp, kAllReduce, 42, {0}, false);
  AreOfDumps(job, true);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "never_launched");
  EXPECT_THAT(Culprits(finding), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(finding.confidence, 0.5);
  EXPECT_THAT(finding.victims, IsEmpty());
  EXPECT_THAT(finding.caveats[0], HasSubstr("Undecided"));
  EXPECT_THAT(finding.title, HasSubstr("rank 0 waits in all_reduce number 42"));
  for (uint32_t rank = 0; rank < 4; ++rank) job[rank].timed_out = false;
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1, 2, 3)) << "who reports says what it does";
}

TEST(HangOfDumps, TwoAheadAreNotOneTooMany) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.Completed(dp, kAllReduce, 42, {1, 2, 3})
      .InFlight(dp, kAllReduce, 42, {0}, false)
      .InFlight(dp, kAllReduce, 43, {0}, false);
  AreOfDumps(job, true);
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1, 2, 3));
}

TEST(HangOfDumps, WithoutADumpARankIsNotSaidToBeGone) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}, false).Silence(1);
  AreOfDumps(job, true);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.subkind, "silent");
  EXPECT_THAT(finding.title, HasSubstr("without a dump"));
  EXPECT_EQ(finding.explanation.find("reports of progress"), std::string::npos);
  EXPECT_LE(finding.confidence, 0.6);
}

TEST(HangOfDumps, DumpsSayWhichLineLaunchedWhatHangs) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}, false);
  job.In(0, "train.py(41): step").In(2, "train.py(41): step").In(1, "eval.py(7): validate");
  AreOfDumps(job, true);
  const Finding finding = Only(job);
  EXPECT_EQ(finding.function, "") << "what it launched last is not what it is in";
  EXPECT_THAT(finding.explanation, HasSubstr("launched by ranks 0 and 2 in train.py(41): step."));
  EXPECT_THAT(finding.explanation,
              HasSubstr("the last was launched by rank 1 in eval.py(7): validate."));
}

TEST(HangOfDumps, SidesThatCannotMeetAreAMismatch) {
  StandingJob job(4);
  const uint16_t ep = job.Group("ep", {0, 1, 2, 3});
  job.InFlight(ep, CollectiveOperation::kAllToAll, 9, {0, 1, 2, 3});
  EXPECT_EQ(Only(job).subkind, "communication");
  job[2].in_flight[0].side = 1;
  EXPECT_EQ(Only(job).subkind, "mismatch");
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(2));
  for (uint32_t rank = 0; rank < 4; ++rank)
    job[rank].in_flight[0].side = static_cast<uint8_t>(rank + 1);
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(Only(job).confidence, 0.5);
}

// A recorder numbers all kinds together: rank 1 is in another kind of the same number, and has
// later ones of this kind in flight behind it.
TEST(HangOfDumps, TheNumberOfARecorderIsOfOneKind) {
  StandingJob job(3);
  const uint16_t dp = job.Group("dp", {0, 1, 2});
  job.InFlight(dp, kAllReduce, 41, {0, 2}, false)
      .InFlight(dp, CollectiveOperation::kBroadcast, 41, {1}, false)
      .InFlight(dp, kAllReduce, 42, {1}, false);
  AreOfDumps(job, true);
  EXPECT_EQ(Only(job).subkind, "mismatch");
  EXPECT_THAT(Culprits(Only(job)), ElementsAre(1));
}

}  // namespace
}  // namespace eroica
