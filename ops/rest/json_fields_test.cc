#include "ops/rest/json_fields.h"

#include <gtest/gtest.h>

#include <string>

namespace eroica {
namespace {

std::string Nested(size_t levels, const std::string& inner = "1") {
  return std::string(levels, '[') + inner + std::string(levels, ']');
}

TEST(ParseForeignJson, TakesWhatOursAreAndNoDeeperTree) {
  EXPECT_TRUE(ParseForeignJson(Nested(64)).is_array());
  EXPECT_TRUE(ParseForeignJson(Nested(65)).is_discarded());
  EXPECT_TRUE(ParseForeignJson("{\"a\":" + Nested(64) + "}").is_discarded());
  EXPECT_TRUE(ParseForeignJson("[" + Nested(60) + "," + Nested(60) + "]").is_array())
      << "what is beside each other is not deep";
  EXPECT_TRUE(ParseForeignJson("nonsense").is_discarded());
}

TEST(ParseForeignJson, BracketsInATextAreNoLevels) {
  const std::string brackets(100, '[');
  EXPECT_TRUE(ParseForeignJson("[\"" + brackets + "\"]").is_array());
  EXPECT_TRUE(ParseForeignJson(R"(["\"", ")" + brackets + R"(", "\\"])").is_array());
}

}  // namespace
}  // namespace eroica
