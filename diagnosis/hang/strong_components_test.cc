#include "diagnosis/hang/strong_components.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(StrongComponents, NothingAndSingles) {
  EXPECT_TRUE(StrongComponents({}).empty());
  EXPECT_EQ(StrongComponents({{}, {}}), (std::vector<uint32_t>{0, 1}));
}

TEST(StrongComponents, EdgesLeadToSmallerNumbers) {
  const std::vector<std::vector<uint32_t>> edges = {{1, 2}, {2}, {}, {0}};
  const auto component = StrongComponents(edges);
  for (uint32_t node = 0; node < edges.size(); ++node) {
    for (const uint32_t target : edges[node]) EXPECT_GT(component[node], component[target]);
  }
}

TEST(StrongComponents, CyclesAreOne) {
  const auto component = StrongComponents({{1}, {2}, {0, 3}, {4}, {3}, {0}});
  EXPECT_EQ(component[0], component[1]);
  EXPECT_EQ(component[0], component[2]);
  EXPECT_EQ(component[3], component[4]);
  EXPECT_LT(component[3], component[0]);
  EXPECT_NE(component[5], component[0]);
}

TEST(StrongComponents, AVeryLongChain) {
  std::vector<std::vector<uint32_t>> edges(1'000'000);
  for (uint32_t node = 0; node + 1 < edges.size(); ++node) edges[node] = {node + 1};
  EXPECT_EQ(StrongComponents(edges).front(), edges.size() - 1);
}

}  // namespace
}  // namespace eroica
