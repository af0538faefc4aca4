#include "diagnosis/link_matrix/host_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr bool kSlow = true;
const std::vector<std::string_view> kSix = {"a", "b", "c", "d", "e", "f"};

std::set<std::string_view> FindSide(std::vector<HostPair> pairs) {
  return FindSlowSide(pairs, kSix);
}

TEST(HostGroups, ARingThatCrossesAPathTwiceShowsIt) {
  EXPECT_THAT(
      FindSide(
          {{"a", "b"}, {"b", "c", kSlow}, {"c", "d"}, {"d", "e"}, {"e", "f"}, {"f", "a", kSlow}}),
      ElementsAre("a", "b"));
}

TEST(HostGroups, TheSmallerSideIsNamed) {
  EXPECT_THAT(
      FindSide(
          {{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "e", kSlow}, {"e", "f"}, {"f", "a", kSlow}}),
      ElementsAre("e", "f"));
}

TEST(HostGroups, OfEqualSidesTheFirstIsNamed) {
  EXPECT_THAT(
      FindSide(
          {{"a", "b"}, {"b", "c"}, {"c", "d", kSlow}, {"d", "e"}, {"e", "f"}, {"f", "a", kSlow}}),
      ElementsAre("a", "b", "c"));
}

TEST(HostGroups, OneSlowPairIsALink) {
  EXPECT_THAT(FindSide({{"a", "b"}, {"b", "c", kSlow}, {"c", "d"}, {"d", "e"}, {"e", "f"}}),
              IsEmpty());
}

TEST(HostGroups, ASlowPairWithinASideIsNoPath) {
  EXPECT_THAT(FindSide({{"a", "b"},
                        {"b", "c", kSlow},
                        {"c", "d"},
                        {"d", "e"},
                        {"e", "f"},
                        {"f", "a", kSlow},
                        {"a", "c"}}),
              IsEmpty());
}

TEST(HostGroups, ASideOfOneHostIsThatHost) {
  EXPECT_THAT(
      FindSide(
          {{"a", "b", kSlow}, {"b", "c"}, {"c", "d"}, {"d", "e"}, {"e", "f"}, {"f", "a", kSlow}}),
      IsEmpty());
}

TEST(HostGroups, GroupsThatAreAllApartAreHowTheNetworkIsBuilt) {
  EXPECT_THAT(FindSide({{"a", "b"},
                        {"b", "c", kSlow},
                        {"c", "d"},
                        {"d", "e", kSlow},
                        {"e", "f"},
                        {"f", "a", kSlow}}),
              IsEmpty());
}

TEST(HostGroups, NothingIsSlow) { EXPECT_THAT(FindSide({{"a", "b"}, {"b", "c"}}), IsEmpty()); }

}  // namespace
}  // namespace eroica
