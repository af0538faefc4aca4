#include "diagnosis/differential/localize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "diagnosis/synthetic_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kFleet = 3'400;
constexpr int kSeeds = 12;

// One function over a fleet, without batches: quick to make and to change.
class Fleet {
 public:
  using Draw = std::function<PatternPoint(std::mt19937&, uint32_t rank)>;

  Fleet(uint32_t ranks, uint32_t seed, const Draw& draw,
        FunctionClass function_class = FunctionClass::kGpuCompute)
      : roles_(ranks, 0), seed_(seed) {
    pattern_.function_class = function_class;
    pattern_.resource_samples = 1;
    column_.function = FunctionId{42};
    column_.sample = &pattern_;
    std::mt19937 random(seed);
    for (uint32_t rank = 0; rank < ranks; ++rank) Append(rank, draw(random, rank));
  }
  Fleet(const Fleet&) = delete;

  void Append(uint32_t rank, const PatternPoint& p) {
    column_.rank.push_back(rank);
    column_.beta.push_back(p[0]);
    column_.mu.push_back(p[1]);
    column_.sigma.push_back(p[2]);
    column_.critical_ns.push_back(pattern_.critical_ns);
    column_.pattern.push_back(&pattern_);
  }
  void Set(uint32_t rank, const PatternPoint& p) {
    column_.beta[rank] = p[0];
    column_.mu[rank] = p[1];
    column_.sigma[rank] = p[2];
  }
  void SetRole(uint32_t rank, uint32_t role) { roles_[rank] = role; }
  void Grow(uint32_t ranks) { roles_.resize(ranks, 0); }
  FunctionColumn& column() { return column_; }

  DifferentialResult Compare(const DifferentialOptions& options = {}) const {
    const uint32_t role_count = 1 + *std::max_element(roles_.begin(), roles_.end());
    return Localize(
        {.functions = {&column_, 1}, .role = roles_, .role_count = role_count, .seed = seed_},
        options);
  }
  std::set<uint32_t> Flagged(const DifferentialOptions& options = {}) const {
    std::set<uint32_t> ranks;
    for (const DifferentialScore& score : Compare(options).scores) ranks.insert(score.rank);
    return ranks;
  }

 private:
  FunctionPattern pattern_;
  FunctionColumn column_;
  std::vector<uint32_t> roles_;
  uint32_t seed_;
};

float Uniform(std::mt19937& random, double low, double high) {
  return static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
}

PatternPoint Healthy(std::mt19937& random, uint32_t /*rank*/) {
  return {0.5f + Uniform(random, -0.02, 0.02), 0.9f + Uniform(random, -0.02, 0.02),
          0.2f + Uniform(random, -0.01, 0.01)};
}

// The cases A to D of METHODS 1.10 (eroica_toy_check.py).
TEST(Localize, FindsOneBadWorkerAndNoOther) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Fleet fleet(kFleet, seed, Healthy);
    fleet.Set(7, {0.5f, 0.4f, 0.2f});
    EXPECT_THAT(fleet.Flagged(), ElementsAre(7)) << seed;
  }
}

TEST(Localize, IsSilentOnNoiseInATinyDimension) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Fleet fleet(kFleet, seed, [](std::mt19937& random, uint32_t rank) {
      PatternPoint p = Healthy(random, rank);
      p[2] = std::abs(std::normal_distribution<float>(0.002f, 0.001f)(random));
      return p;
    });
    EXPECT_THAT(fleet.Flagged(), IsEmpty()) << seed;
    DifferentialOptions unconfirmed;
    unconfirmed.confirm_deviation = 0;
    EXPECT_THAT(fleet.Flagged(unconfirmed), IsEmpty()) << "the floor alone suffices; " << seed;
  }
}

TEST(Localize, ComparesRolesApart) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Fleet fleet(kFleet, seed, [](std::mt19937& random, uint32_t rank) {
      PatternPoint p = Healthy(random, rank);
      if (rank % 8 == 0) p[0] -= 0.2f;
      return p;
    });
    for (uint32_t rank = 0; rank < kFleet; rank += 8) fleet.SetRole(rank, 1);
    EXPECT_THAT(fleet.Flagged(), IsEmpty()) << seed;
    fleet.Set(16, {0.5f, 0.9f, 0.2f});  // as the other role, but not as its own
    EXPECT_THAT(fleet.Flagged(), ElementsAre(16)) << seed;
  }
}

TEST(Localize, SeesALoneDropThatDeltaMisses) {
  for (const double drop : {0.2, 0.25, 0.3, 0.34, 0.38, 0.5}) {
    for (uint32_t seed = 0; seed < kSeeds; ++seed) {
      Fleet fleet(kFleet, seed, [](std::mt19937& random, uint32_t) -> PatternPoint {
        return {0.5f + Uniform(random, -0.01, 0.01), 0.9f + Uniform(random, -0.01, 0.01),
                0.2f + Uniform(random, -0.005, 0.005)};
      });
      fleet.Set(7, {0.5f, static_cast<float>(0.9 * (1 - drop)), 0.2f});
      const DifferentialResult result = fleet.Compare();
      ASSERT_EQ(result.scores.size(), 1u) << drop << " " << seed;
      EXPECT_EQ(result.scores[0].rank, 7u);
      EXPECT_EQ(result.scores[0].dimension, PatternDimension::kMu);
      EXPECT_LT(result.scores[0].deviation, -8);
      EXPECT_TRUE(result.scores[0].tight);
      EXPECT_EQ(result.scores[0].distant, drop > 0.36);
    }
  }
}

TEST(Localize, IsSilentOnHeavyTails) {
  for (const float width : {0.02f, 0.1f, 0.3f, 0.5f}) {
    for (const float median : {0.01f, 0.05f, 0.2f}) {
      for (uint32_t seed = 0; seed < kSeeds; ++seed) {
        const Fleet fleet(kFleet, seed, [&](std::mt19937& random, uint32_t) -> PatternPoint {
          std::lognormal_distribution<float> lognormal(0, width);
          const auto share = [&](float center) {
            return std::min(1.0f, center * lognormal(random));
          };
          return {share(median),
                  std::clamp(std::normal_distribution<float>(0.7f, 0.1f)(random), 0.0f, 1.0f),
                  share(0.1f)};
        });
        EXPECT_THAT(fleet.Flagged(), IsEmpty()) << width << " " << median << " " << seed;
      }
    }
  }
}

// CS2 P3: pin_memory on 3 of 3,400 workers. CS4 P1: hundreds throttled. CS4 P2: 48 of 2,560 with
// longer collectives.
TEST(Localize, FindsAFunctionThatOnlyTheCulpritsRun) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Fleet fleet(0, seed, Healthy, FunctionClass::kPython);
    fleet.Grow(kFleet);
    fleet.Append(5, {0.23f, 0, 0});
    fleet.Append(1'700, {0.33f, 0, 0});
    fleet.Append(3'399, {0.28f, 0, 0});
    const DifferentialResult result = fleet.Compare();
    EXPECT_THAT(fleet.Flagged(), ElementsAre(5, 1'700, 3'399));
    const DifferentialScore& score = result.scores.front();
    EXPECT_EQ(score.delta, 1);
    EXPECT_EQ(score.delta_median, 0);
    EXPECT_EQ(score.peers_median[0], 0);
    EXPECT_EQ(score.peers, kFleet - 1);
    EXPECT_EQ(score.sample_size, 100u);
    EXPECT_NEAR(score.expectation_distance, static_cast<double>(score.own[0]) - 0.01, 1e-6);
    EXPECT_EQ(result.comparisons.at(0).running, 3u);
    EXPECT_EQ(result.comparisons.at(0).unexpected, 3u);
  }
}

TEST(Localize, FindsHundredsThatAreThrottled) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Fleet fleet(2'560, seed, [](std::mt19937& random, uint32_t rank) -> PatternPoint {
      const bool throttled = rank / 8 % 8 == 3;  // 320 ranks on 40 hosts
      if (throttled)
        return {0.036f + Uniform(random, -0.002, 0.002), 0.27f + Uniform(random, -0.03, 0.03),
                0.05f};
      return {0.030f + Uniform(random, -0.001, 0.001), 0.78f + Uniform(random, -0.02, 0.02), 0.02f};
    });
    const std::set<uint32_t> flagged = fleet.Flagged();
    EXPECT_EQ(flagged.size(), 320u) << seed;
    for (const uint32_t rank : flagged) EXPECT_EQ(rank / 8 % 8, 3u);
  }
}

TEST(Localize, ASmallerFaultIsNotHiddenByALargerOne) {
  Fleet fleet(kFleet, 1, [](std::mt19937& random, uint32_t) -> PatternPoint {
    return {0.03f + Uniform(random, -0.001, 0.001), 0, 0};
  });
  fleet.Set(10, {0.9f, 0, 0});
  fleet.Set(20, {0.2f, 0, 0});
  EXPECT_THAT(fleet.Flagged(), ElementsAre(10, 20));
}

TEST(Localize, AFunctionCommonToAllIsUnexpectedButNobodysFault) {
  const Fleet fleet(
      kFleet, 3,
      [](std::mt19937& random, uint32_t) -> PatternPoint {
        return {0.06f + Uniform(random, -0.005, 0.005), 0.9f, 0};
      },
      FunctionClass::kPython);
  const DifferentialResult result = fleet.Compare();
  EXPECT_THAT(result.scores, IsEmpty());
  ASSERT_EQ(result.comparisons.size(), 1u);
  EXPECT_EQ(result.comparisons[0].unexpected, kFleet);
  EXPECT_NEAR(result.comparisons[0].expectation_distance_mean, 0.05, 1e-3);
}

TEST(Localize, FunctionsNearTheRowLimitThatSomeRanksLackAreNoFault) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    Fleet fleet(0, seed, Healthy);
    fleet.Grow(kFleet);
    for (uint32_t rank = 0; rank < kFleet; ++rank) {
      const float beta = 0.008f + Uniform(random, -0.006, 0.006);
      if (beta >= 0.005f) fleet.Append(rank, {beta, 0.9f, 0.1f});
    }
    EXPECT_THAT(fleet.Flagged(), IsEmpty()) << seed;
  }
}

TEST(Localize, ARankWithoutASamplerIsNoOutlierButAnIdleResourceIs) {
  Fleet fleet(kFleet, 4, Healthy);
  FunctionPattern unsampled;
  fleet.Set(9, {0.5f, 0, 0});
  fleet.column().pattern[9] = &unsampled;
  EXPECT_THAT(fleet.Flagged(), IsEmpty());
  fleet.Set(11, {0.5f, 0, 0});  // measured, and 0
  EXPECT_THAT(fleet.Flagged(), ElementsAre(11));
}

TEST(Localize, PermutingTheRanksPermutesTheResult) {
  std::mt19937 random(17);
  std::vector<PatternPoint> points;
  for (uint32_t rank = 0; rank < 1'000; ++rank) points.push_back(Healthy(random, rank));
  points[1] = {0.5f, 0.3f, 0.2f};
  points[2] = {0.9f, 0.9f, 0.2f};
  points[3] = {0.5f, 0.7f, 0.2f};
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<uint32_t> order(points.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    const Fleet fleet(1'000, seed,
                      [&](std::mt19937&, uint32_t rank) { return points[order[rank]]; });
    std::set<uint32_t> back;
    for (const uint32_t rank : fleet.Flagged()) back.insert(order[rank]);
    EXPECT_THAT(back, ElementsAre(1, 2, 3)) << seed;
  }
}

TEST(Localize, AddingHealthyRanksChangesNothing) {
  for (const uint32_t ranks : {16u, 64u, 200u, 1'000u, 5'000u, 20'000u}) {
    Fleet fleet(ranks, 5, Healthy);
    fleet.Set(3, {0.5f, 0.3f, 0.2f});
    fleet.Set(8, {0.95f, 0.9f, 0.2f});
    EXPECT_THAT(fleet.Flagged(), ElementsAre(3, 8)) << ranks;
  }
}

TEST(Localize, WorksFromThreePeersOn) {
  const auto draw = [](std::mt19937& random, uint32_t rank) -> PatternPoint {
    return {(rank == 1 ? 0.45f : 0.2f) + Uniform(random, -0.004, 0.004), 0, 0};
  };
  EXPECT_THAT(Fleet(1, 1, draw).Flagged(), IsEmpty());
  EXPECT_THAT(Fleet(2, 1, draw).Flagged(), IsEmpty()) << "of two, neither is the normal one";
  EXPECT_THAT(Fleet(3, 1, draw).Flagged(), ElementsAre(1));
  EXPECT_THAT(Fleet(4, 1, draw).Flagged(), ElementsAre(1));
}

TEST(Localize, BoundsTheNumberOfScores) {
  const Fleet fleet(10'000, 6, [](std::mt19937& random, uint32_t rank) {
    PatternPoint p = Healthy(random, rank);
    if (rank % 5 == 0) p[1] = 0.3f;
    return p;
  });
  DifferentialOptions options;
  options.max_scores = 100;
  const DifferentialResult result = fleet.Compare(options);
  EXPECT_EQ(result.scores.size(), 100u);
  EXPECT_EQ(result.comparisons[0].flagged, 2'000u);
}

TEST(Localize, OfAViewLeavesOutSilentRanksAndNamesTheCriticalExcess) {
  SyntheticJob job(12);
  job.RunOnAll(FunctionClass::kGpuCompute, "gemm", 0.4, 0.9, 0.05);
  job.Run(5, FunctionClass::kPython, "throttled_layer_extra_work", 0.3);
  for (const uint32_t rank : {1u, 2u, 3u}) {
    job.batches[rank].silent = true;
    job.batches[rank].patterns.clear();
  }
  const CrossRankView view(job.batches, job.summaries);
  const DifferentialResult result = Localize(view);
  ASSERT_EQ(result.scores.size(), 1u);
  EXPECT_EQ(result.scores[0].pattern->name, "throttled_layer_extra_work");
  EXPECT_EQ(result.scores[0].rank, 5u);
  EXPECT_EQ(result.scores[0].critical_excess_ns, 3 * kSyntheticWindowNs / 10);
  EXPECT_EQ(result.scores[0].peers, 8u);
  ASSERT_EQ(result.comparisons.size(), 2u);
  EXPECT_EQ(result.comparisons[0].members, 9u);
}

TEST(Localize, IsTheSameEachTime) {
  Fleet fleet(kFleet, 7, Healthy);
  fleet.Set(7, {0.5f, 0.4f, 0.2f});
  const DifferentialResult a = fleet.Compare();
  const DifferentialResult b = fleet.Compare();
  ASSERT_EQ(a.scores.size(), b.scores.size());
  EXPECT_EQ(a.scores[0].delta, b.scores[0].delta);
  EXPECT_EQ(a.comparisons[0].delta_median, b.comparisons[0].delta_median);
}

// Functions that run on all ranks, on some and on others, in roles by turns.
TEST(Localize, OneFunctionDoesNotChangeWhatIsFoundInTheNext) {
  constexpr uint32_t kRanks = 600;
  std::vector<uint32_t> role;
  for (uint32_t rank = 0; rank < kRanks; ++rank) role.push_back(rank % 3);
  FunctionPattern pattern;
  pattern.resource_samples = 1;
  std::vector<FunctionColumn> columns(6);
  std::mt19937 random(8);
  for (uint32_t f = 0; f < columns.size(); ++f) {
    columns[f].function = FunctionId{f};
    columns[f].sample = &pattern;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      if (f >= 2 && f < 5 && rank % 2 == f % 2) continue;
      PatternPoint p = Healthy(random, rank);
      if (random() % 100 == 0) p[1] = 0.3f;
      columns[f].rank.push_back(rank);
      columns[f].beta.push_back(p[0]);
      columns[f].mu.push_back(p[1]);
      columns[f].sigma.push_back(p[2]);
      columns[f].critical_ns.push_back(pattern.critical_ns);
      columns[f].pattern.push_back(&pattern);
    }
  }
  std::set<std::pair<uint64_t, uint32_t>> alone;
  for (FunctionColumn& column : columns) {
    for (const DifferentialScore& score :
         Localize({.functions = {&column, 1}, .role = role, .role_count = 3}).scores) {
      alone.emplace(column.function.value, score.rank);
    }
  }
  std::set<std::pair<uint64_t, uint32_t>> together;
  for (const DifferentialScore& score :
       Localize({.functions = columns, .role = role, .role_count = 3}).scores) {
    together.emplace(score.function.value, score.rank);
  }
  EXPECT_GT(alone.size(), 10u);
  EXPECT_EQ(together, alone);
}

TEST(Localize, OfNothingIsNothing) {
  EXPECT_THAT(Localize(DifferentialInput{}).scores, IsEmpty());
  EXPECT_THAT(Localize(CrossRankView({}, {})).comparisons, IsEmpty());
}

}  // namespace
}  // namespace eroica
