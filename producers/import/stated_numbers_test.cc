#include "producers/import/stated_numbers.h"

#include <gtest/gtest.h>

#include <limits>

#include "schemas/codec.h"

namespace eroica {
namespace {

using Ranks = std::vector<uint32_t>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Ranks Parsed(std::string_view text) {
  const std::optional<MemberList> members = MemberList::Parse(text);
  EXPECT_TRUE(members.has_value()) << text;
  return members ? members->ranks() : Ranks{~0u};
}

TEST(MemberList, IsWhatTheTextLists) {
  EXPECT_EQ(Parsed("[0, 1, 2]"), (Ranks{0, 1, 2}));
  EXPECT_EQ(Parsed("\"[2,0]\""), (Ranks{2, 0}));
  EXPECT_EQ(Parsed("(7,)"), Ranks{7});
  EXPECT_EQ(Parsed(""), Ranks{});
  EXPECT_EQ(Parsed("[]"), Ranks{});
  EXPECT_EQ(Parsed("all of them"), Ranks{});
  EXPECT_EQ(Parsed("[0, 1, ..., 7]"), Ranks{}) << "the writer cut it short";
}

TEST(MemberList, OfNumbersThatAreNoRanksThereIsNone) {
  for (const char* text : {"[-1, 0]", "[0, 1048576]", "[4294967296]", "[18446744073709551616]",
                           "[0, 99999999999999999999999]", "[0, 1, 0]", "[- 1]", "[0-1]"})
    EXPECT_FALSE(MemberList::Parse(text).has_value()) << text;
  const std::vector<int64_t> negative{0, -1};
  EXPECT_FALSE(MemberList::Of(negative).has_value());
  const std::vector<int64_t> last{CodecLimits::kRanks - 1};
  EXPECT_TRUE(MemberList::Of(last).has_value());
}

TEST(World, HasRanksUpToItsSize) {
  EXPECT_FALSE(World::OfSize(0).has_value());
  EXPECT_FALSE(World::OfSize(-1).has_value());
  EXPECT_FALSE(World::OfSize(int64_t{CodecLimits::kRanks} + 1).has_value());
  EXPECT_FALSE(World::OfSize(kMax).has_value());
  const World world = *World::OfSize(2);
  EXPECT_EQ(world.Rank(1), RankId(1));
  for (const int64_t none : {int64_t{-1}, int64_t{2}, int64_t{1} << 32, kMax})
    EXPECT_FALSE(world.Rank(none).has_value()) << none;
  EXPECT_EQ(world.Outside(*MemberList::Parse("[0, 1]")), std::nullopt);
  EXPECT_EQ(world.Outside(*MemberList::Parse("[0, 5, 7]")), 5u);
  EXPECT_EQ(world.All().ranks(), (Ranks{0, 1}));
}

TEST(StatedNumbers, AreNotCutToAnotherNumber) {
  EXPECT_EQ(RankOrNone(3), 3);
  EXPECT_EQ(RankOrNone((int64_t{1} << 32) + 1), -1) << "not rank 1";
  EXPECT_EQ(RankOrNone(-5), -1);
  EXPECT_EQ(SizeOrUnknown(CodecLimits::kRanks), CodecLimits::kRanks);
  EXPECT_EQ(SizeOrUnknown(int64_t{CodecLimits::kRanks} + 1), 0u);
  EXPECT_EQ(SizeOrUnknown(-1), 0u);
  EXPECT_EQ(StepNumber(17), 17);
  EXPECT_FALSE(StepNumber(-1).has_value());
  EXPECT_FALSE(StepNumber(kMax).has_value());
}

}  // namespace
}  // namespace eroica
