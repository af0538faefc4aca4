#include "ops/config/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

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

}  // namespace
}  // namespace eroica
