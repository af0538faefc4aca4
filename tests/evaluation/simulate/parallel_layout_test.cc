#include "tests/evaluation/simulate/parallel_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

namespace eroica::simulate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Communicator& GroupOf(const GroupTable& table, uint32_t rank, GroupKind kind) {
  return table.groups().at(table.Find(rank, kind)).communicator;
}

std::string Complaint(const ParallelLayout& layout) { return std::string(Check(layout).message()); }

TEST(ParallelLayout, RanksAreNumberedTensorContextDataPipeline) {
  const ParallelLayout layout = {.tensor = 2, .context = 3, .data = 4, .pipeline = 2};
  EXPECT_EQ(CoordinatesOf(layout, 1), (Coordinates{.tensor = 1}));
  EXPECT_EQ(CoordinatesOf(layout, 2), (Coordinates{.context = 1}));
  EXPECT_EQ(CoordinatesOf(layout, 6), (Coordinates{.data = 1}));
  EXPECT_EQ(CoordinatesOf(layout, 24), (Coordinates{.pipeline = 1}));
  for (uint32_t rank = 0; rank < layout.world_size(); ++rank)
    EXPECT_EQ(RankAt(layout, CoordinatesOf(layout, rank)), rank);
}

TEST(ParallelLayout, SaysWhichNumberIsWrong) {
  EXPECT_TRUE(Check(ParallelLayout{.tensor = 8,
                                   .context = 2,
                                   .data = 4,
                                   .pipeline = 4,
                                   .expert = 4,
                                   .virtual_stages = 2})
                  .ok());
  EXPECT_THAT(Complaint({.tensor = 0}), HasSubstr("layout.tensor is 0"));
  EXPECT_THAT(Complaint({.expert = 0}), HasSubstr("layout.expert is 0"));
  EXPECT_THAT(Complaint({.data = 6, .expert = 4}),
              HasSubstr("layout.expert is 4; it must divide layout.data, 6"));
  EXPECT_THAT(Complaint({.virtual_stages = 2}), HasSubstr("needs layout.pipeline > 1"));
  EXPECT_THAT(Complaint({.pipeline = 2, .virtual_stages = 0}),
              HasSubstr("layout.virtual_stages is 0"));
  EXPECT_THAT(Complaint({.ranks_per_host = 0}), HasSubstr("layout.ranks_per_host is 0"));
}

TEST(ParallelLayout, RefusesAProductThatOverflows) {
  EXPECT_THAT(Complaint({.tensor = 65536, .context = 65536, .data = 65536, .pipeline = 65536}),
              HasSubstr("at most 1048576 ranks"));
}

TEST(GroupTable, HoldsTheMembersInOrder) {
  const ParallelLayout layout = {.tensor = 2, .context = 2, .data = 4, .pipeline = 3, .expert = 2};
  const GroupTable table(layout, "job");
  EXPECT_THAT(GroupOf(table, 1, GroupKind::kTensor).ranks, ElementsAre(0, 1));
  EXPECT_THAT(GroupOf(table, 1, GroupKind::kContext).ranks, ElementsAre(1, 3));
  EXPECT_THAT(GroupOf(table, 1, GroupKind::kData).ranks, ElementsAre(1, 3, 5, 7, 9, 11, 13, 15));
  EXPECT_THAT(GroupOf(table, 1, GroupKind::kExpert).ranks, ElementsAre(1, 5));
  EXPECT_THAT(GroupOf(table, 15, GroupKind::kExpert).ranks, ElementsAre(11, 15));
  EXPECT_THAT(GroupOf(table, 17, GroupKind::kPipeline).ranks, ElementsAre(1, 17, 33));
  EXPECT_THAT(GroupOf(table, 33, GroupKind::kEmbedding).ranks, ElementsAre(1, 33));
  EXPECT_EQ(table.Find(17, GroupKind::kEmbedding), GroupTable::kNone);
  EXPECT_EQ(GroupOf(table, 47, GroupKind::kWorld).size, 48u);
}

TEST(GroupTable, EveryRankIsInOneGroupOfEachKindWithItsCoordinates) {
  const ParallelLayout layout = {.tensor = 2, .context = 2, .data = 6, .pipeline = 2, .expert = 3};
  const GroupTable table(layout, "job");
  for (uint32_t rank = 0; rank < layout.world_size(); ++rank) {
    for (int kind = 0; kind < kGroupKindCount; ++kind) {
      const Communicator& group = GroupOf(table, rank, static_cast<GroupKind>(kind));
      EXPECT_EQ(std::count(group.ranks.begin(), group.ranks.end(), rank), 1);
      EXPECT_TRUE(std::is_sorted(group.ranks.begin(), group.ranks.end()));
      EXPECT_EQ(group.size, GroupSize(layout, static_cast<GroupKind>(kind)));
      EXPECT_EQ(group.ranks.size(), group.size);
    }
    EXPECT_EQ(CoordinatesOf(layout, GroupOf(table, rank, GroupKind::kExpert).ranks[0]).data %
                  layout.expert,
              0u);
  }
  size_t members = 0;
  for (const Group& group : table.groups()) members += group.communicator.size;
  EXPECT_EQ(members, size_t{layout.world_size()} *
                         kGroupKindCount);  // with two stages all are in an embedding group
}

TEST(GroupTable, GroupsOfOneDoNotExist) {
  const GroupTable alone(ParallelLayout{}, "job");
  EXPECT_TRUE(alone.groups().empty());
  EXPECT_EQ(alone.Find(0, GroupKind::kWorld), GroupTable::kNone);
  const GroupTable data(ParallelLayout{.data = 4}, "job");
  EXPECT_EQ(data.groups().size(), 2u);  // the world and the data group, of the same members
  EXPECT_EQ(data.Find(3, GroupKind::kTensor), GroupTable::kNone);
}

TEST(GroupTable, NamesGroupsAsTheFrameworksDo) {
  const GroupTable table(ParallelLayout{.tensor = 2, .data = 2}, "job");
  EXPECT_EQ(GroupOf(table, 0, GroupKind::kWorld).name, "0");
  EXPECT_EQ(GroupOf(table, 0, GroupKind::kWorld).description, "default_pg");
  EXPECT_EQ(GroupOf(table, 1, GroupKind::kData).name, "2");
  EXPECT_EQ(GroupOf(table, 3, GroupKind::kTensor).name, "4");
  EXPECT_EQ(GroupOf(table, 3, GroupKind::kTensor).description, "TENSOR_MODEL_PARALLEL_GROUP");
}

TEST(GroupTable, IdsTellAllGroupsOfAllJobsApartAndStayTheSame) {
  const ParallelLayout layout = {.tensor = 8, .data = 157, .pipeline = 8};  // 10,048 ranks
  const GroupTable one(layout, "one");
  const GroupTable again(layout, "one");
  const GroupTable two(layout, "two");
  std::unordered_set<uint64_t> ids;
  for (size_t i = 0; i < one.groups().size(); ++i) {
    EXPECT_EQ(one.groups()[i].communicator, again.groups()[i].communicator);
    ids.insert(one.groups()[i].communicator.id.value);
    ids.insert(two.groups()[i].communicator.id.value);
  }
  EXPECT_EQ(ids.size(), 2 * one.groups().size());
}

}  // namespace
}  // namespace eroica::simulate
