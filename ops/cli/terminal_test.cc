#include "ops/cli/terminal.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(Terminal, IsAsWideAsItIsWithinWhatCanBeRead) {
  EXPECT_EQ(ChooseWidth("", 80), 80u);
  EXPECT_EQ(ChooseWidth("", 20), kWidthMin);
  EXPECT_EQ(ChooseWidth("", 500), kWidthMax);
  EXPECT_EQ(ChooseWidth("", std::nullopt), kWidthElsewhere);
}

TEST(Terminal, ColumnsThatAreAskedForBeatTheTerminal) {
  EXPECT_EQ(ChooseWidth("72", 120), 72u);
  EXPECT_EQ(ChooseWidth("72", std::nullopt), 72u);
  EXPECT_EQ(ChooseWidth("9", 120), kWidthMin);
  EXPECT_EQ(ChooseWidth("99999", 120), kWidthMax);
}

TEST(Terminal, ColumnsThatAreNoNumberAreNone) {
  for (const char* columns : {"0", "-5", "80x", " 80", "wide", "99999999999999999999999"})
    EXPECT_EQ(ChooseWidth(columns, 120), 120u) << columns;
}

TEST(Terminal, ColorsOnlyWhereAPersonLooksOnAndHasNotRefused) {
  EXPECT_TRUE(ChooseColor(ColorWhen::kAuto, true, "", "xterm-256color"));
  EXPECT_TRUE(ChooseColor(ColorWhen::kAuto, true, "", ""));
  EXPECT_FALSE(ChooseColor(ColorWhen::kAuto, false, "", "xterm"));
  EXPECT_FALSE(ChooseColor(ColorWhen::kAuto, true, "1", "xterm"));
  EXPECT_FALSE(ChooseColor(ColorWhen::kAuto, true, "", "dumb"));
}

TEST(Terminal, WhoSaysAlwaysOrNeverIsHeard) {
  EXPECT_TRUE(ChooseColor(ColorWhen::kAlways, false, "1", "dumb"));
  EXPECT_FALSE(ChooseColor(ColorWhen::kNever, true, "", "xterm"));
}

}  // namespace
}  // namespace eroica
