#include "producers/core/rank_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

TEST(RankClaim, MakesAFolderAndALockForThisUserAlone) {
  const ScratchDirectory scratch;
  const std::string folder = scratch.path() + "/of/the/job";
  ASSERT_TRUE(RankClaim::Take(folder, 3).ok());
  struct stat status {};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat((folder + "/rank-3.lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_TRUE(absl::IsAlreadyExists(RankClaim::Take(folder, 3).status()));
  EXPECT_TRUE(RankClaim::IsHeldByAncestor(folder, 3));
  EXPECT_FALSE(RankClaim::IsHeldByAncestor(folder, 4));
}

TEST(RankClaim, EverybodyMayAskWhoHoldsWhichRank) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(RankClaim::HoldersIn(scratch.path() + "/none").empty());
  const absl::StatusOr<RankClaim> claim = RankClaim::Take(scratch.path(), 12);
  ASSERT_TRUE(claim.ok());
  for (const char* name : {"rank-x.lock", "rank-.lock", "rank-3.place", "rank-4294967296.lock"})
    std::ofstream(scratch.path() + "/" + name) << "1";
  std::ofstream(scratch.path() + "/rank-2.lock") << "no number";
  const std::vector<RankClaim::Holder> holders = RankClaim::HoldersIn(scratch.path());
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(holders[0].rank, 12u);
  EXPECT_EQ(holders[0].pid, ::getpid());
}

TEST(RankClaim, WhoAsksIsSeenAndTakesTheRankOnceItIsLetGo) {
  const ScratchDirectory scratch;
  absl::StatusOr<RankClaim> claim = RankClaim::Take(scratch.path(), 0);
  ASSERT_TRUE(claim.ok());
  EXPECT_FALSE(claim->IsAsked());
  RankClaim::Ask(scratch.path(), 1);
  EXPECT_FALSE(claim->IsAsked());
  RankClaim::Ask(scratch.path(), 0);
  EXPECT_TRUE(claim->IsAsked());
  EXPECT_FALSE(RankClaim::Take(scratch.path(), 0).ok());
  claim->Release();
  EXPECT_EQ(claim->refused(), 0u);
  const absl::StatusOr<RankClaim> next = RankClaim::Take(scratch.path(), 0);
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next->IsAsked()) << "of the holder before";
}

// Four processes without a rank in their environment all are rank 0.
TEST(RankClaim, TheHolderSeesHowManyWereRefused) {
  const ScratchDirectory scratch;
  const absl::StatusOr<RankClaim> claim = RankClaim::Take(scratch.path(), 0);
  ASSERT_TRUE(claim.ok());
  EXPECT_EQ(claim->refused(), 0u);
  for (int i = 0; i < 3; ++i) RankClaim::NoteRefused(scratch.path(), 0);
  EXPECT_EQ(claim->refused(), 3u);
  EXPECT_TRUE(RankClaim::IsHeldByAncestor(scratch.path(), 0)) << "its number is still read";
  RankClaim::NoteRefused(scratch.path(), 1);  // nobody holds that one
  EXPECT_EQ(claim->refused(), 3u);
}

TEST(RankClaim, WhetherTheHolderOnlyAssumesTheRankIsWritten) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(RankClaim::IsHeldByAssumption(scratch.path(), 0));
  {
    const auto assumed = RankClaim::Take(scratch.path(), 0, RankSource::kAssumed);
    RankClaim::NoteRefused(scratch.path(), 0);
    EXPECT_TRUE(RankClaim::IsHeldByAssumption(scratch.path(), 0));
    EXPECT_TRUE(RankClaim::IsHeldByAncestor(scratch.path(), 0));
    EXPECT_EQ(assumed->refused(), 1u);
  }
  const auto stated = RankClaim::Take(scratch.path(), 1);
  EXPECT_TRUE(stated.ok());
  EXPECT_FALSE(RankClaim::IsHeldByAssumption(scratch.path(), 1));
}

TEST(RankClaim, ARefusalBeforeTheHolderHasWrittenItsNumberCounts) {
  const ScratchDirectory scratch;
  const absl::StatusOr<RankClaim> claim = RankClaim::Take(scratch.path(), 0);
  ASSERT_TRUE(claim.ok());
  const std::string lock = scratch.path() + "/rank-0.lock";
  ASSERT_EQ(::truncate(lock.c_str(), 0), 0);
  RankClaim::NoteRefused(scratch.path(), 0);
  EXPECT_EQ(claim->refused(), 1u);
}

TEST(RankClaim, APipeForALockKeepsNoRankWaiting) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch.path() + "/rank-0.lock").c_str(), 0600), 0);
  EXPECT_FALSE(RankClaim::IsHeldByAncestor(scratch.path(), 0));
  EXPECT_THAT(std::string(RankClaim::Take(scratch.path(), 0).status().message()),
              HasSubstr("it is a pipe"));
}

}  // namespace
}  // namespace eroica
