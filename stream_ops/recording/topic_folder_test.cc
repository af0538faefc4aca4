#include "stream_ops/recording/topic_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

void LetRest(const std::string& folder) {
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(folder, long_ago);
}

TEST(TopicFolder, WhatHasJustChangedOrIsNotThereCannotBeReliedOn) {
  const ScratchDirectory scratch;
  EXPECT_EQ(TopicFolder(scratch.path()).LastChange(), std::nullopt);
  EXPECT_EQ(TopicFolder(scratch.path() + "/none").LastChange(), std::nullopt);
}

// Nanoseconds in 64 bits end with the year 2262.
TEST(TopicFolder, ATimeOfTheFarFutureCannotBeReliedOn) {
  const ScratchDirectory scratch;
  constexpr timespec kYear2400 = {.tv_sec = 13'569'465'600, .tv_nsec = 0};
  const timespec times[] = {kYear2400, kYear2400};
  ASSERT_EQ(::utimensat(AT_FDCWD, scratch.path().c_str(), times, 0), 0);
  EXPECT_EQ(TopicFolder(scratch.path()).LastChange(), std::nullopt);
}

TEST(TopicFolder, APartitionThatIsAddedIsSeenWithinAnInterval) {
  const ScratchDirectory scratch;
  LetRest(scratch.path());
  TopicFolder folder(scratch.path());
  const std::optional<std::chrono::nanoseconds> before = folder.LastChange();
  ASSERT_NE(before, std::nullopt);
  EXPECT_EQ(folder.LastChange(), before);
  std::filesystem::create_directory(scratch.path() + "/7");
  while (folder.LastChange() == before) {
  }
  EXPECT_EQ(folder.LastChange(), std::nullopt) << "a second one might bear the same time";
  LetRest(scratch.path());
  while (folder.LastChange() == std::nullopt) {
  }
}

}  // namespace
}  // namespace eroica
