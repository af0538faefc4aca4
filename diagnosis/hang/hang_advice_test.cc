// Advice about a hang follows the library of the group that hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "diagnosis/hang/evaluated_job.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr CollectiveLibrary kLibraries[] = {CollectiveLibrary::kUnknown, CollectiveLibrary::kNccl,
                                            CollectiveLibrary::kGloo, CollectiveLibrary::kMpi,
                                            CollectiveLibrary::kUcc};

// All that a person reads of it.
std::string Text(const Finding& finding) {
  std::string text = finding.title + "\n" + finding.explanation + "\n" + finding.suggested_action;
  for (const std::string& caveat : finding.caveats) text += "\n" + caveat;
  return text;
}

// Names of NCCL, of its switches, and of what only a job with devices has.
constexpr const char* kOfDevices = "NCCL|Xid|ECC|device|NVLink|PCIe|proxy";

// All have launched it and nobody says where it has started; all are in it; one is silent, and one
// crashed; only one of all lacks it.
std::vector<StandingJob> HungJobs() {
  std::vector<StandingJob> jobs;
  for (int i = 0; i < 4; ++i) {
    StandingJob job(4);
    const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
    if (i == 0) job.InFlight(dp, kAllReduce, 41, {0, 1, 2, 3}, false);
    if (i == 1) job.InFlight(dp, kAllReduce, 41, {0, 1, 2, 3});
    if (i == 2) job.InFlight(dp, kAllReduce, 41, {0, 1, 3}).Silence(2);
    if (i == 3)
      job.Completed(dp, CollectiveOperation::kBroadcast, 42, {0, 1, 3})
          .InFlight(dp, CollectiveOperation::kBroadcast, 41, {2});
    jobs.push_back(job);
  }
  return jobs;
}

TEST(HangAdvice, NothingOfDevicesWhereTheLibraryRunsOnTheHost) {
  for (StandingJob& job : HungJobs()) {
    for (const CollectiveLibrary library : {CollectiveLibrary::kGloo, CollectiveLibrary::kMpi})
      EXPECT_THAT(Text(Only(job.MovedBy(library))), Not(ContainsRegex(kOfDevices)));
  }
}

TEST(HangAdvice, NamesNoLibraryThatIsNotRecorded) {
  for (StandingJob& job : HungJobs()) {
    for (const CollectiveLibrary library : {CollectiveLibrary::kUnknown, CollectiveLibrary::kUcc})
      EXPECT_THAT(Text(Only(job.MovedBy(library))), Not(ContainsRegex("NCCL|Xid|gloo|MPI")));
  }
}

TEST(HangAdvice, NamesTheErrorsOfDevicesOfNccl) {
  StandingJob job = HungJobs()[2];
  EXPECT_THAT(Text(Only(job.MovedBy(CollectiveLibrary::kNccl))), HasSubstr("Xid"));
}

// Its variable makes the next dumps better; a job that is watched alive has none.
TEST(HangAdvice, TheTimesOfTheRecorderAreForDumpsOfNcclAlone) {
  for (const CollectiveLibrary library : kLibraries) {
    for (const bool of_dumps : {false, true}) {
      StandingJob job = HungJobs()[0].MovedBy(library);
      for (uint32_t rank = 0; of_dumps && rank < 4; ++rank) {
        job[rank].timed_out = job[rank].starts_unknown = true;
        job[rank].last_step = -1;
      }
      const Finding finding = Only(job);
      EXPECT_EQ(finding.subkind, "stalled");
      const bool named = Text(finding).find("TORCH_NCCL_ENABLE_TIMING") != std::string::npos;
      EXPECT_EQ(named, of_dumps && library == CollectiveLibrary::kNccl);
      EXPECT_EQ(finding.title.find("the dumps") != std::string::npos, of_dumps);
    }
  }
}

// Threads of rank 3 carry out what it has launched without waiting: it is no device that stands.
TEST(HangAdvice, AnAsynchronousCollectiveOfTheHostHasNoDeviceToWaitFor) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.InFlight(dp, kAllReduce, 41, {0, 1, 2}).InFlight(dp, kAllReduce, 41, {3}, false);
  EXPECT_EQ(Only(job).subkind, "device") << "of a library that is not known";
  const Finding finding = Only(job.MovedBy(CollectiveLibrary::kGloo));
  EXPECT_EQ(finding.subkind, "stalled");
  EXPECT_THAT(Victims(finding), ElementsAre(0, 1, 2, 3));
}

// Rank 1 has posted a receive, and its thread is elsewhere.
TEST(HangAdvice, AReceiveOfTheHostThatNobodyWaitsIn) {
  StandingJob job(4);
  const uint16_t dp = job.Group("dp", {0, 1, 2, 3});
  job.Send(dp, 0, 1).Receive(dp, 1, 0, false).In(1, "train.py: load");
  const Finding finding = Only(job.MovedBy(CollectiveLibrary::kMpi));
  EXPECT_EQ(finding.subkind, kHangNotWaiting);
  EXPECT_THAT(Culprits(finding), ElementsAre(1));
  EXPECT_THAT(finding.title, HasSubstr("train.py: load"));
  EXPECT_THAT(Text(finding), Not(ContainsRegex(kOfDevices)));
}

TEST(HangAdvice, OnOneHostNoLinksBetweenHosts) {
  StandingJob job = HungJobs()[1];
  for (const CollectiveLibrary library : kLibraries)
    EXPECT_THAT(Only(job.MovedBy(library)).suggested_action, HasSubstr("within host node-0"));
  job[3].host = "node-1";
  for (const CollectiveLibrary library : kLibraries)
    EXPECT_THAT(Only(job.MovedBy(library)).suggested_action, HasSubstr("between the hosts"));
}

}  // namespace
}  // namespace eroica
