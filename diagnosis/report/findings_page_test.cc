// docs/FINDINGS.md tells of every kind of finding, with its evidence, its limits, what to do, and
// an example.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "schemas/finding.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

std::string SectionOf(FindingKind kind) {
  std::ostringstream page;
  page << std::ifstream("docs/FINDINGS.md").rdbuf();
  const std::string text = page.str();
  const size_t begin = text.find("\n## " + std::string(ToString(kind)) + "\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

TEST(FindingsPage, TellsOfEveryKind) {
  for (int i = 0; i < kFindingKindCount; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    const std::string section = SectionOf(kind);
    ASSERT_FALSE(section.empty()) << ToString(kind);
    for (const char* part : {"**Evidence.**", "**Limits.**", "**What to do.**", "Example, "})
      EXPECT_THAT(section, HasSubstr(part)) << ToString(kind);
    EXPECT_THAT(section, HasSubstr("kind        " + std::string(ToString(kind))))
        << "the example is of the kind";
  }
}

}  // namespace
}  // namespace eroica
