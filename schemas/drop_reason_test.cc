#include "schemas/drop_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace eroica {
namespace {

TEST(DropReason, EveryReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  int reasons = 0;
  for (int value = 0; value < 256; ++value) {
    if (!IsDropReason(static_cast<uint8_t>(value))) continue;
    ++reasons;
    EXPECT_TRUE(names.insert(ToString(static_cast<DropReason>(value))).second) << value;
  }
  EXPECT_EQ(reasons, 29);
}

TEST(DropReason, ANumberFromOutsideIsChecked) {
  EXPECT_TRUE(IsDropReason(0));
  EXPECT_TRUE(IsDropReason(static_cast<uint8_t>(DropReason::kTooManyFunctions)));
  EXPECT_FALSE(IsDropReason(19));
  EXPECT_FALSE(IsDropReason(255));
}

}  // namespace
}  // namespace eroica
