#include "schemas/window_name.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(WindowName, IsReadBack) {
  EXPECT_EQ(WindowName(WindowKind::kSteps, 12), "steps-12");
  EXPECT_EQ(WindowName(WindowKind::kTime, 0), "time-0");
  EXPECT_EQ(ParseWindowName("steps-12"), (NamedWindow{WindowKind::kSteps, 12}));
  EXPECT_EQ(ParseWindowName("time-0"), (NamedWindow{WindowKind::kTime, 0}));
}

TEST(WindowName, NothingElseIsOne) {
  for (const char* name : {"", "steps", "steps-", "steps--1", "steps-1x", "steps- 1", "latest",
                           "time-99999999999999999999", "Steps-1"})
    EXPECT_EQ(ParseWindowName(name), std::nullopt) << name;
}

}  // namespace
}  // namespace eroica
