#include "producers/host/kept_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "producers/host/kernel_text.h"
#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// The descriptor that the next open gives out.
int NextDescriptor() {
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(descriptor);
  return descriptor;
}

TEST(KeptFile, SaysWhatTheFileSaysNow) {
  const MadeUpFiles files;
  files.Write("a", "one");
  std::array<char, 8> text;
  KeptFile file(files.At("a"));
  EXPECT_EQ(file.Read(text, 0), "one");
  files.Write("a", "longer than there is room");
  EXPECT_EQ(file.Read(text, 0), "longer t");
  KeptFile moved = std::move(file);
  EXPECT_EQ(moved.Read(text, 0), "longer t");
}

TEST(KeptFile, WhatIsMissingIsLookedForAgainNotAtOnce) {
  const MadeUpFiles files;
  std::array<char, 8> text;
  KeptFile file(files.At("late"));
  EXPECT_EQ(file.Read(text, kNsPerSecond), "");
  files.Write("late", "here");
  EXPECT_EQ(file.Read(text, 2 * kNsPerSecond), "");
  EXPECT_EQ(file.Read(text, 12 * kNsPerSecond), "here");
}

TEST(KeptFile, WhatIsNoFileIsNotOpened) {
  const MadeUpFiles files;
  std::array<char, 8> text;
  ASSERT_EQ(mkfifo(files.At("pipe").c_str(), 0600), 0);
  EXPECT_EQ(KeptFile(files.At("pipe")).Read(text, 0), "");
  EXPECT_EQ(KeptFile(files.path()).Read(text, 0), "");
  EXPECT_EQ(KeptFile("").Read(text, 0), "");
}

// Daemons close all descriptors; the number is then given to a file of their own.
TEST(KeptFile, ADescriptorThatWasClosedAndReusedIsNeitherReadNorClosed) {
  const MadeUpFiles files;
  files.Write("ours", "ours");
  files.Write("theirs", "theirs");
  std::array<char, 8> text;
  const int descriptor = NextDescriptor();
  int other = -1;
  {
    KeptFile file(files.At("ours"));
    ASSERT_EQ(file.Read(text, 0), "ours");
    ASSERT_EQ(close(descriptor), 0);
    other = open(files.At("theirs").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(other, descriptor);
    EXPECT_EQ(file.Read(text, kNsPerSecond), "");
    EXPECT_EQ(file.Read(text, 20 * kNsPerSecond), "ours");
  }
  EXPECT_EQ(fcntl(other, F_GETFD), FD_CLOEXEC);
  close(other);
}

TEST(KernelText, TakesWholeLinesAndNumbersOnly) {
  std::string_view text = "one\ntwo";
  std::string_view line;
  EXPECT_TRUE(TakeLine(&text, &line));
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(TakeLine(&text, &line));  // cut off
  for (const char* word : {"", "-1", "1x", " 1", "0x10", "18446744073709551616"})
    EXPECT_FALSE(ReadNumber(word)) << word;
  EXPECT_EQ(ReadNumber("18446744073709551615"), UINT64_MAX);
  EXPECT_FALSE(Growth(5, 4));
  EXPECT_EQ(Growth(0, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(AfterKey("a: 1\nb: 2\nb: 3", "b:"), " 2");
  EXPECT_FALSE(AfterKey("b: 2", "b:"));
}

}  // namespace
}  // namespace eroica
