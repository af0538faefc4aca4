#include "tests/evaluation/score/known_misses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string MessageOf(std::string_view text) {
  return std::string(ParseKnownMisses(text).status().message());
}

TEST(KnownMisses, OneALine) {
  const auto known = ParseKnownMisses("# for people\n\n b: needs: a history\r\na: too small");
  ASSERT_TRUE(known.ok());
  EXPECT_THAT(*known, ElementsAre(Pair("a", "too small"), Pair("b", "needs: a history")));
}

TEST(KnownMisses, EveryOneHasAReason) {
  EXPECT_THAT(MessageOf("a: why\nb"), HasSubstr("line 2"));
  EXPECT_THAT(MessageOf("b:  "), HasSubstr("line 1"));
  EXPECT_THAT(MessageOf(": why"), HasSubstr("line 1"));
  EXPECT_THAT(MessageOf("a: x\na: y"), HasSubstr("twice"));
}

TEST(KnownMisses, SayWhatNothingTells) {
  const KnownMisses known = {{"a", "cannot be told: one host"}, {"b", "too small"}};
  EXPECT_TRUE(CannotBeTold(known, "a"));
  EXPECT_FALSE(CannotBeTold(known, "b"));
  EXPECT_FALSE(CannotBeTold(known, "c"));
}

TEST(KnownMisses, SayWhatTwoWindowsDoNotTell) {
  const KnownMisses known = {{"a", "more than two windows: too even"},
                             {"family spike", "more than two windows: comes seldom"},
                             {"c", "too small"}};
  EXPECT_EQ(WhyMoreWindows(known, "a", "spike"), "too even");
  EXPECT_EQ(WhyMoreWindows(known, "b", "spike"), "comes seldom");
  EXPECT_EQ(WhyMoreWindows(known, "c", "link"), "");
  EXPECT_EQ(WhyMoreWindows(known, "spike", "link"), "");
}

TEST(KnownMisses, NeedTheirFile) {
  EXPECT_EQ(ReadKnownMisses("no/such/file").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace eroica
