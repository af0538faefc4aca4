#include "producers/core/rank_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

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

TEST(RankClaim, APipeForALockKeepsNoRankWaiting) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch.path() + "/rank-0.lock").c_str(), 0600), 0);
  EXPECT_FALSE(RankClaim::IsHeldByAncestor(scratch.path(), 0));
  EXPECT_THAT(std::string(RankClaim::Take(scratch.path(), 0).status().message()),
              HasSubstr("it is a pipe"));
}

}  // namespace
}  // namespace eroica
