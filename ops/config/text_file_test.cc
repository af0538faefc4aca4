#include "ops/config/text_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

namespace eroica {
namespace {

std::string Write(const std::string& content) {
  const std::string path = ::testing::TempDir() + "eroica_text_file_test.txt";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(TextFile, ReadsAllBytes) {
  const std::string content = std::string(10'000, 'a') + '\0' + "\r\n";
  EXPECT_EQ(ReadTextFile(Write(content)).value_or("failed"), content);
  EXPECT_EQ(ReadTextFile(Write("")).value_or("failed"), "");
}

TEST(TextFile, SaysWhyItCannot) {
  EXPECT_THAT(std::string(ReadTextFile("no/such/file").status().message()),
              ::testing::HasSubstr("no/such/file: No such file"));
  EXPECT_TRUE(absl::IsNotFound(ReadTextFile("ops").status()));
}

TEST(TextFile, RefusesWhatIsNoSmallFile) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadTextFile(Write(std::string((size_t{1} << 20) + 1, 'a'))).status()));
}

TEST(TextFile, APipeIsReadToItsEndWhateverComesWhen) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::jthread writer([&ends] {
    for (const char* part : {"first ", "second"}) {
      ASSERT_GT(::write(ends[1], part, std::strlen(part)), 0);
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(ReadTextFile("/dev/fd/" + std::to_string(ends[0])).value_or("failed"), "first second");
  ::close(ends[0]);
}

TEST(TextFile, APipeThatNobodyWritesToIsAnError) {
  const std::string path = ::testing::TempDir() + "eroica_text_file_test.pipe";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const absl::Status status = ReadTextFile(path, std::chrono::milliseconds(1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(path));
  ::unlink(path.c_str());
}

TEST(TextFile, ADeviceWithoutAnEndIsTooLarge) {
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile("/dev/zero").status()));
  EXPECT_EQ(ReadTextFile("/dev/null").value_or("failed"), "");
}

}  // namespace
}  // namespace eroica
