#include "diagnosis/differential/peer_sample.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eroica {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr PatternBox kEverything{{-1, -1, -1}, {2, 2, 2}};

struct Rows {
  std::vector<float> beta, mu, sigma;
  PatternColumns columns() const { return {beta.data(), mu.data(), sigma.data()}; }
  size_t size() const { return beta.size(); }
  void push_back(float b, float m, float s) {
    beta.push_back(b);
    mu.push_back(m);
    sigma.push_back(s);
  }
};

uint16_t BruteForce(const Rows& rows, size_t i, const std::vector<PatternPoint>& points,
                    const PatternPoint& scale, float distance) {
  uint16_t count = 0;
  for (const PatternPoint& p : points) {
    const float dx = std::abs(rows.beta[i] * scale[0] - p[0]);
    const float dy = std::abs(rows.mu[i] * scale[1] - p[1]);
    const float dz = std::abs(rows.sigma[i] * scale[2] - p[2]);
    const float near_beta_and_mu = dx + dy;
    if (near_beta_and_mu + dz >= distance) ++count;
  }
  return count;
}

TEST(PeerSample, SettlesTightClustersByOneBox) {
  std::vector<PatternPoint> points(100, {0.9f, 0.9f, 0.2f});
  Rows rows;
  rows.push_back(0.9f, 0.9f, 0.2f);
  rows.push_back(0.9f, 0.2f, 0.2f);
  const PeerSample sample(points, {1, 1, 1}, 0.4f);
  EXPECT_EQ(sample.box_count(), 1u);
  RowScreen screen;
  sample.Screen(rows.columns(), rows.size(), kEverything, &screen);
  EXPECT_THAT(screen.distant, ElementsAre(0, 100));
  EXPECT_EQ(screen.histogram[0], 1u);
  EXPECT_EQ(screen.histogram[100], 1u);
  EXPECT_THAT(screen.unusual, IsEmpty());
}

TEST(PeerSample, ReportsRowsOutsideTheUsualBox) {
  Rows rows;
  for (int i = 0; i < 2'000; ++i) rows.push_back(i == 1'234 ? 0.7f : 0.5f, i == 3 ? 0.1f : 0.9f, 0);
  const std::vector<PatternPoint> points{{0.5f, 0.9f, 0}};
  RowScreen screen;
  PeerSample(points, {1, 1, 1}, 0.4f)
      .Screen(rows.columns(), rows.size(), {{0.4f, 0.8f, 0}, {0.6f, 1, 0}}, &screen);
  EXPECT_THAT(screen.unusual, ElementsAre(3, 1'234));
}

TEST(PeerSample, OfNoPointsAndOfNoRows) {
  Rows rows;
  RowScreen screen;
  PeerSample({}, {1, 1, 1}, 0.4f).Screen(rows.columns(), 0, kEverything, &screen);
  EXPECT_THAT(screen.distant, IsEmpty());
  rows.push_back(0.5f, 0.5f, 0.5f);
  PeerSample({}, {1, 1, 1}, 0.4f).Screen(rows.columns(), 1, kEverything, &screen);
  EXPECT_THAT(screen.distant, Each(0));
}

// Tight clouds, wide clouds, lattices on which distances equal the limit exactly: neither the boxes
// nor the machine change anything.
class PeerSampleOnMachine : public ::testing::TestWithParam<InstructionSet> {};

TEST_P(PeerSampleOnMachine, EqualsAllPairsExactly) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (int round = 0; round < 60; ++round) {
    const float width = round % 3 == 0 ? 1.0f : round % 3 == 1 ? 0.05f : 0.3f;
    const bool lattice = round % 4 == 0;
    const auto draw = [&] {
      PatternPoint p;
      for (float& x : p) {
        x = 0.2f + width * (uniform(random) - 0.2f);
        if (lattice) x = std::round(x * 10) / 10;
      }
      if (random() % 50 == 0) p[random() % 3] = uniform(random);
      return p;
    };
    const PatternPoint scale{1 + uniform(random), 1 / (0.1f + uniform(random)),
                             lattice ? 1.0f : 0.9f};
    std::vector<PatternPoint> points(1 + random() % 130);
    for (PatternPoint& point : points) {
      point = draw();
      for (size_t d = 0; d < 3; ++d) point[d] *= scale[d];
    }
    Rows rows;
    const size_t count = random() % 1'500;
    for (size_t i = 0; i < count; ++i) {
      const PatternPoint p = draw();
      rows.push_back(p[0], p[1], p[2]);
    }
    const PeerSample sample(points, scale, 0.4f);
    RowScreen screen;
    sample.Screen(rows.columns(), rows.size(), kEverything, &screen, GetParam());
    std::vector<uint64_t> histogram(points.size() + 1, 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint16_t expected = BruteForce(rows, i, points, scale, 0.4f);
      ASSERT_EQ(screen.distant[i], expected) << "round " << round << " row " << i;
      ++histogram[expected];
    }
    ASSERT_EQ(screen.histogram, histogram) << round;
  }
}

// Where boxes settle nothing they are left aside for a while, but not for good; rows far beyond the
// sample stay far; and so do few points far apart.
TEST_P(PeerSampleOnMachine, EqualsAllPairsWhereTheRowsChangeOnTheWay) {
  std::mt19937 random(12);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<PatternPoint> points(100);
  for (PatternPoint& point : points) point = {uniform(random), uniform(random), uniform(random)};
  for (const float outlier : {1.0f, 3.0f, 1e5f}) {
    points[17][1] = outlier;
    Rows rows;
    for (int i = 0; i < 24'000; ++i) {
      const float width = i < 11'000 ? 1 : i < 18'000 ? 0.01f : 40;
      rows.push_back(width * uniform(random), width * uniform(random),
                     width * uniform(random) - width / 10);
    }
    const PeerSample sample(points, {1, 1, 1}, 0.4f);
    RowScreen screen;
    sample.Screen(rows.columns(), rows.size(), kEverything, &screen, GetParam());
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(screen.distant[i], BruteForce(rows, i, points, {1, 1, 1}, 0.4f))
          << outlier << " row " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, PeerSampleOnMachine,
                         ::testing::ValuesIn(AvailableInstructionSets()));

}  // namespace
}  // namespace eroica
