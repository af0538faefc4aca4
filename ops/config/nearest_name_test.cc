#include "ops/config/nearest_name.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(NearestName, FindsTransposedMissingAndExtraLetters) {
  const std::vector<std::string> known = {"diagnose", "import", "node", "findings"};
  EXPECT_EQ(NearestName("diagnsoe", known), "diagnose");
  EXPECT_EQ(NearestName("finding", known), "findings");
  EXPECT_EQ(NearestName("nodes", known), "node");
}

TEST(NearestName, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(NearestName("zebra", {"node", "import"}), "");
  EXPECT_EQ(NearestName("", {"node"}), "");
  EXPECT_EQ(NearestName("node", {}), "");
}

}  // namespace
}  // namespace eroica
