#include "tests/evaluation/score/window_claims.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

Finding Claim(int32_t rank, std::string function = "gemm") {
  Finding finding;
  finding.culprits = {{.rank = rank}};
  finding.function = std::move(function);
  return finding;
}

TEST(WindowClaims, StandWhereMadeInHalfOfTheWindows) {
  WindowClaims claims;
  claims.Add(0, {Claim(1), Claim(2)});
  claims.Add(1, {Claim(1)});
  claims.Add(2, {});
  claims.Add(3, {});
  const std::vector<SaidFinding> standing = claims.Standing(0);
  ASSERT_EQ(standing.size(), 1u);
  EXPECT_EQ(standing[0].finding.culprits[0].rank, 1);
  EXPECT_EQ(standing[0].finding.last_window, 1);
  EXPECT_EQ(standing[0].finding.id, FindingId(standing[0].finding));
}

TEST(WindowClaims, CountFromTheWindowInWhichTheFaultShows) {
  WindowClaims claims;
  for (int64_t window = 0; window < 6; ++window) {
    claims.Add(window,
               window < 4 ? std::vector<Finding>{Claim(1)} : std::vector<Finding>{Claim(2)});
  }
  const std::vector<SaidFinding> standing = claims.Standing(3);
  ASSERT_EQ(standing.size(), 1u) << "rank 1 is claimed in one of three windows";
  EXPECT_EQ(standing[0].finding.culprits[0].rank, 2);
  EXPECT_EQ(standing[0].opened_window, 4);
  EXPECT_TRUE(claims.Standing(6).empty());
}

TEST(WindowClaims, NameTheFunctionThatWasNamedMost) {
  WindowClaims claims;
  claims.Add(0, {Claim(1, "conv"), Claim(1)});
  claims.Add(1, {Claim(1)});
  claims.Add(2, {Claim(1), Claim(1, "conv")});
  const std::vector<SaidFinding> standing = claims.Standing(0);
  ASSERT_EQ(standing.size(), 1u);
  EXPECT_EQ(standing[0].finding.function, "gemm");
}

TEST(WindowClaims, OrderOfCulpritsIsNothing) {
  WindowClaims claims;
  Finding pair = Claim(1);
  pair.culprits.push_back({.rank = 2});
  claims.Add(0, {pair});
  std::swap(pair.culprits[0], pair.culprits[1]);
  claims.Add(1, {pair});
  EXPECT_EQ(claims.Standing(0).size(), 1u);
}

}  // namespace
}  // namespace eroica
