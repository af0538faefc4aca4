#include "tests/evaluation/baselines/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnosis/measurements/synthetic_job.h"
#include "schemas/testing/not_empty.h"
#include "tests/evaluation/baselines/claim.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;

TEST(Baselines, EachMakesAnOperatorOfItsName) {
  std::set<std::string_view> names;
  for (const BaselineMethod& method : Baselines()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_EQ(method.make()->name(), method.name);
    EXPECT_FALSE(method.about.empty());
    EXPECT_FALSE(method.source.empty());
  }
  EXPECT_EQ(names.size(), 6u);
}

TEST(Baselines, SayNothingOfNothing) {
  const CrossRankView view({}, {});
  for (const BaselineMethod& method : Baselines()) {
    std::vector<Finding> findings;
    method.make()->Evaluate(view, findings);
    EXPECT_THAT(findings, IsEmpty()) << method.name;
  }
}

TEST(Baselines, TakeRanksAndTimesThatCannotBe) {
  SyntheticJob job(3);
  job.Run(0, FunctionClass::kPython, "f", 0.5).count = 0;
  job.Run(1, FunctionClass::kCollective, "g", -1).total_ns = -7;
  job.batches[2].silent = true;
  job.batches[0].steps[3].duration_ns = std::numeric_limits<int64_t>::max();
  CollectiveSummary& group = job.Group({0, 1, 2});
  group.members.push_back(
      {.rank = RankId{99}, .count = 10, .wait_ns = std::numeric_limits<int64_t>::max()});
  group.missing = {RankId{77}};
  group.incomplete = 5;
  group.transfer_ns = std::numeric_limits<int64_t>::max();
  job.Pipeline({{0, 98}}, 0);
  const CrossRankView view(job.batches, job.summaries);
  for (const BaselineMethod& method : NotEmpty(Baselines())) {
    std::vector<Finding> findings;
    method.make()->Evaluate(view, findings);
    for (const Finding& finding : findings) EXPECT_EQ(finding.operator_name, method.name);
  }
}

TEST(Claim, NamesRanksInAFewWords) {
  EXPECT_EQ(RankList({}), "no rank");
  EXPECT_EQ(RankList({RankId{3}}), "rank 3");
  EXPECT_EQ(RankList({RankId{3}, RankId{5}}), "ranks 3, 5");
  std::vector<RankId> many;
  for (uint32_t rank = 0; rank < 48; ++rank) many.push_back(RankId{rank});
  EXPECT_EQ(RankList(many), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 40 more");
}

}  // namespace
}  // namespace eroica
