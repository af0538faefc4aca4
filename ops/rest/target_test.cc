#include "ops/rest/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(TargetTest, PathAndQueryComeDecoded) {
  const auto target = ParseTarget("/v1/jobs/night%2F7%20a/windows?limit=10&host=a+b%26c");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->path, ElementsAre("v1", "jobs", "night/7 a", "windows"));
  EXPECT_THAT(target->query, ElementsAre(Pair("host", "a b&c"), Pair("limit", "10")));
}

TEST(TargetTest, TheRootHasNoSegments) {
  const auto target = ParseTarget("/");
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->path, IsEmpty());
  EXPECT_TRUE(ParseTarget("/?a").ok());
}

TEST(TargetTest, WhatIsNoTargetIsRefused) {
  for (const std::string target : {"",
                                   "v1",
                                   "http://elsewhere/v1",
                                   "/v1//jobs",
                                   "/v1/",
                                   "/..",
                                   "/v1/../etc",
                                   "/v1/%2e%2e/x",
                                   "/.",
                                   "/a%",
                                   "/a%4",
                                   "/a%zz",
                                   "/a b",
                                   "/a\x01",
                                   "/a\xff",
                                   "/a%ff",
                                   "/a%00b",
                                   "/a#b",
                                   "/a?x=%c0%af",
                                   "/a?x=1&x=2",
                                   "/a?x=\x7f"}) {
    EXPECT_FALSE(ParseTarget(target).ok()) << target;
  }
  EXPECT_FALSE(ParseTarget("/" + std::string(kTargetBytesMax, 'a')).ok());
  std::string many = "/a?";
  for (int i = 0; i < 40; ++i) many += "p" + std::to_string(i) + "=1&";
  EXPECT_FALSE(ParseTarget(many).ok());
}

TEST(TargetTest, WhatWasEncodedIsDecodedToTheSame) {
  const std::string name = "night/7 \xc3\xa4%?&=#+";
  const auto target = ParseTarget("/jobs/" + EncodeComponent(name) + "?n=" + EncodeComponent(name));
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path[1], name);
  EXPECT_EQ(target->query.at("n"), name);
}

}  // namespace
}  // namespace eroica
