#include "ops/rest/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// SHA-256 of "test".
constexpr char kTest[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

TEST(TokensTest, ATokenIsFoundByItsHash) {
  const auto tokens =
      TokenTable::Parse(std::string("# who\n\ngrafana\tread  ") + kTest + "\r\n", "tokens");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->size(), 1U);
  const auto caller = tokens->Find("Bearer test");
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->name, "grafana");
  EXPECT_TRUE(caller->scopes.read);
  EXPECT_FALSE(caller->scopes.control);
  EXPECT_TRUE(tokens->Find("bearer test"));
  for (const std::string wrong :
       {"", "Bearer ", "Bearer", "test", "Basic test", "Bearer test ", "Bearer tes", kTest})
    EXPECT_FALSE(tokens->Find(wrong)) << wrong;
}

TEST(TokensTest, AMadeTokenIsTakenByTheLineThatCameWithIt) {
  const auto made = MakeToken("oncall", {.read = true, .control = true});
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->line, Not(HasSubstr(made->token)));
  const auto tokens = TokenTable::Parse(made->line, "tokens");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  const auto caller = tokens->Find("Bearer " + made->token);
  ASSERT_TRUE(caller);
  EXPECT_TRUE(caller->scopes.control);
  EXPECT_NE(MakeToken("oncall", {.read = true})->token, made->token);
  EXPECT_FALSE(MakeToken("a b", {.read = true}).ok());
}

TEST(TokensTest, AWrongLineIsNamedAndShowsNoHash) {
  const std::string lines[] = {
      std::string("a read,write ") + kTest,     "a read 1234",
      std::string("a read ") + kTest + " more", "a read",
      std::string("\x1b[31m read ") + kTest,    std::string("a read x") + (kTest + 1)};
  for (const std::string& line : lines) {
    const auto tokens = TokenTable::Parse("# comment\n" + line + "\n", "tokens");
    ASSERT_FALSE(tokens.ok()) << line;
    EXPECT_THAT(std::string(tokens.status().message()), HasSubstr("tokens:2: "));
    EXPECT_THAT(std::string(tokens.status().message()), Not(HasSubstr("9f86d0")));
  }
  EXPECT_FALSE(TokenTable::Parse("# none\n", "tokens").ok());
}

}  // namespace
}  // namespace eroica
