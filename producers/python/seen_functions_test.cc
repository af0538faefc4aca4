#include "producers/python/seen_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::Each;
using ::testing::IsEmpty;

TEST(SeenFunctions, OneEntryASampleAndEqualOnesSideBySide) {
  SeenFunctions seen;
  EXPECT_TRUE(seen.empty());
  EXPECT_THAT(seen.All(), IsEmpty());
  for (const uint32_t function : {5u, 3u, 5u}) seen.Add(function);
  EXPECT_THAT(seen.All(), ElementsAre(3, 5, 5));
  EXPECT_EQ(seen.newest(), 5u);
}

TEST(SeenFunctions, TheOldestIsForgotten) {
  SeenFunctions seen;
  seen.Add(1);
  for (size_t i = 0; i < SeenFunctions::kNewest; ++i) seen.Add(2);
  EXPECT_THAT(seen.All(), Each(2u));
}

}  // namespace
}  // namespace eroica
