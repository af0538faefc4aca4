#include "stream_ops/summarize/member_list.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <set>

namespace eroica {
namespace {

Communicator CommunicatorOf(uint32_t size) {
  Communicator communicator{
      .id = CommId(7), .name = "dp", .description = "data parallel", .size = size, .ranks = {}};
  communicator.ranks.resize(size);
  std::iota(communicator.ranks.begin(), communicator.ranks.end(), 100u);
  return communicator;
}

std::set<uint32_t> Listers(const Communicator& communicator, int64_t window) {
  std::set<uint32_t> listers;
  for (const uint32_t rank : communicator.ranks) {
    if (ListsMembers(communicator, RankId(rank), window)) listers.insert(rank);
  }
  return listers;
}

TEST(MemberList, AllMembersOfASmallCommunicatorGiveIt) {
  EXPECT_EQ(Listers(CommunicatorOf(64), 5).size(), 64u);
  EXPECT_EQ(AsSaidBy(CommunicatorOf(64), RankId(100), 5), CommunicatorOf(64));
  Communicator unknown = CommunicatorOf(0);
  unknown.size = 9;
  EXPECT_EQ(AsSaidBy(unknown, RankId(3), 5), unknown);
}

TEST(MemberList, ThreeOfALargeOneDoAndOthersInTheNextWindow) {
  const Communicator communicator = CommunicatorOf(1'000);
  EXPECT_EQ(Listers(communicator, 0), (std::set<uint32_t>{100, 433, 766}));
  EXPECT_EQ(Listers(communicator, 1), (std::set<uint32_t>{101, 434, 767}));
  for (const int64_t window : {int64_t{-1}, int64_t{999}, std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(Listers(communicator, window).size(), 3u) << window;
  }
  EXPECT_EQ(Listers(CommunicatorOf(65), 64).size(), 3u);
  EXPECT_FALSE(ListsMembers(communicator, RankId(5), 0)) << "no member";
}

TEST(MemberList, WithoutTheListTheRestIsSaid) {
  Communicator communicator = CommunicatorOf(1'000);
  const Communicator listed = AsSaidBy(communicator, RankId(100), 0);
  EXPECT_EQ(listed, communicator);
  communicator.size = 0;  // the producer knew the list only
  const Communicator said = AsSaidBy(communicator, RankId(101), 0);
  EXPECT_EQ(said, (Communicator{.id = CommId(7),
                                .name = "dp",
                                .description = "data parallel",
                                .size = 1'000,
                                .ranks = {}}));
}

}  // namespace
}  // namespace eroica
