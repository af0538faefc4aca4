#include "ops/cli/finding_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class FindingScreenTest : public ::testing::Test {
 protected:
  // What a version of the finding prints.
  std::string Show(FindingScreen& screen, FindingState state, const char* id = "a") {
    Finding finding;
    finding.id = id;
    finding.job = JobId{"night"};
    finding.title = "Rank 3 is slow.";
    finding.state = state;
    out_.str("");
    screen.Show(finding);
    return out_.str();
  }
  static int64_t Lines(const std::string& text) { return std::ranges::count(text, '\n'); }

  std::ostringstream out_;
};

TEST_F(FindingScreenTest, ABlockWhenItOpensALineWhenItGoesOnAndWhenItIsResolved) {
  FindingScreen screen(&out_, FindingForm::kFull, {});
  EXPECT_GT(Lines(Show(screen, FindingState::kOpened)), 5);
  for (int i = 0; i < 3; ++i) {
    const std::string update = Show(screen, FindingState::kUpdated);
    EXPECT_EQ(Lines(update), 1);
    EXPECT_THAT(update, HasSubstr("updated  job night: Rank 3 is slow."));
  }
  const std::string resolved = Show(screen, FindingState::kResolved);
  EXPECT_EQ(Lines(resolved), 1);
  EXPECT_THAT(resolved, HasSubstr("resolved job night"));
}

TEST_F(FindingScreenTest, WhatReturnsAndWhatIsFirstHeardOfLaterOpensAsWell) {
  FindingScreen screen(&out_, FindingForm::kFull, {});
  EXPECT_GT(Lines(Show(screen, FindingState::kUpdated)), 5);
  Show(screen, FindingState::kResolved);
  EXPECT_GT(Lines(Show(screen, FindingState::kUpdated)), 5);
  EXPECT_EQ(Lines(Show(screen, FindingState::kResolved, "another")), 1);
}

TEST_F(FindingScreenTest, BriefAndJsonAreALineAVersion) {
  FindingScreen brief(&out_, FindingForm::kBrief, {});
  EXPECT_EQ(Lines(Show(brief, FindingState::kOpened)), 1);
  FindingScreen json(&out_, FindingForm::kJson, {});
  for (const FindingState state : {FindingState::kOpened, FindingState::kUpdated}) {
    const std::string text = Show(json, state);
    EXPECT_EQ(Lines(text), 1);
    EXPECT_THAT(text, StartsWith("{\"id\":\"a\""));
  }
}

}  // namespace
}  // namespace eroica
