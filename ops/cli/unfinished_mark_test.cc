#include "ops/cli/unfinished_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(UnfinishedMark, IsSilentWhileTheWriterLivesAndOnceItHasFinished) {
  const ScratchDirectory folder;
  EXPECT_THAT(InterruptedWriting(folder.path()), IsEmpty());
  absl::StatusOr<UnfinishedMark> mark = UnfinishedMark::Set(folder.path(), "eroica import");
  ASSERT_TRUE(mark.ok()) << mark.status();
  EXPECT_THAT(InterruptedWriting(folder.path()), IsEmpty());
  EXPECT_TRUE(mark->Remove().ok());
  EXPECT_THAT(InterruptedWriting(folder.path()), IsEmpty());
}

TEST(UnfinishedMark, SpeaksOfAWriterThatIsGone) {
  const ScratchDirectory folder;
  { ASSERT_TRUE(UnfinishedMark::Set(folder.path(), "eroica import").ok()); }
  EXPECT_THAT(InterruptedWriting(folder.path()),
              AllOf(HasSubstr(folder.path()), HasSubstr("`eroica import`")));
}

TEST(UnfinishedMark, WhoAddsToWhatWasInterruptedDoesNotMakeItWhole) {
  const ScratchDirectory folder;
  { ASSERT_TRUE(UnfinishedMark::Set(folder.path(), "eroica import").ok()); }
  {
    absl::StatusOr<UnfinishedMark> second = UnfinishedMark::Set(folder.path(), "eroica import");
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_TRUE(second->Remove().ok());
  }
  EXPECT_THAT(InterruptedWriting(folder.path()), HasSubstr("interrupted"));
}

TEST(UnfinishedMark, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(UnfinishedMark::Set("no/such/folder", "eroica import").ok());
}

TEST(UnfinishedMark, APipeOfItsNameKeepsNobodyWaiting) {
  const ScratchDirectory folder;
  ASSERT_EQ(::mkfifo((folder.path() + "/unfinished").c_str(), 0600), 0);
  EXPECT_THAT(InterruptedWriting(folder.path()), IsEmpty());
  const absl::Status set = UnfinishedMark::Set(folder.path(), "eroica import").status();
  EXPECT_THAT(std::string(set.message()), HasSubstr("pipe"));
}

}  // namespace
}  // namespace eroica
