#include "producers/python/sampling_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr int64_t kAsked = 20 * kNsPerMs;

// The period after three seconds in which a sample costs sample_ns and the training thread uses the
// share `busy` of a processor.
int64_t PeriodWhere(int64_t sample_ns, double busy, int64_t asked_ns = kAsked) {
  SamplingPace pace(asked_ns);
  int64_t own_ns = 0;
  for (int64_t now_ns = kNsPerMs; now_ns < 3'000 * kNsPerMs; now_ns += pace.period_ns()) {
    pace.Tick(now_ns, own_ns, static_cast<int64_t>(busy * static_cast<double>(now_ns)));
    own_ns += sample_ns;
  }
  return pace.period_ns();
}

TEST(SamplingPace, IsWhatWasAskedForWhereThatIsCheap) {
  EXPECT_EQ(PeriodWhere(10'000, 1.0), kAsked);
  EXPECT_EQ(PeriodWhere(50'000, 1.0), kAsked);
}

TEST(SamplingPace, KeepsToItsShareOfWhatTheTrainingThreadUses) {
  const int64_t period_ns = PeriodWhere(50'000, 0.25);
  EXPECT_NEAR(50'000 / static_cast<double>(period_ns), 0.25 * SamplingPace::kShare, 0.0001);
}

TEST(SamplingPace, AThreadThatWaitsIsSampledLeast) {
  EXPECT_EQ(PeriodWhere(10'000, 0), SamplingPace::kLongestPeriodNs);
  EXPECT_EQ(PeriodWhere(10'000'000, 1.0), SamplingPace::kLongestPeriodNs);
}

TEST(SamplingPace, IsNeverFasterThanAskedFor) {
  EXPECT_EQ(PeriodWhere(1, 1.0, 500 * kNsPerMs), 500 * kNsPerMs);
  EXPECT_EQ(PeriodWhere(0, 0, 500 * kNsPerMs), 500 * kNsPerMs);
}

TEST(SamplingPace, ComesBackWhenThereIsTimeAgain) {
  SamplingPace pace(kAsked);
  int64_t own_ns = 0;
  int64_t training_ns = 0;
  for (int64_t now_ns = kNsPerMs; now_ns < 5'000 * kNsPerMs; now_ns += pace.period_ns()) {
    pace.Tick(now_ns, own_ns, training_ns);
    own_ns += 20'000;
    training_ns = now_ns > 2'000 * kNsPerMs ? now_ns : 0;
  }
  EXPECT_EQ(pace.period_ns(), kAsked);
}

// Of steps that last as long as a period, and twice and half as long.
TEST(SamplingPace, StepsOfItsOwnLengthAreSeenAtAllPlaces) {
  constexpr int kParts = 8;
  for (const int64_t step_ns : {kAsked / 2, kAsked, 2 * kAsked}) {
    SamplingPace pace(kAsked);
    std::array<int, kParts> seen{};
    int64_t now_ns = 0;
    for (int i = 0; i < 80; ++i, now_ns += pace.NextNs())
      ++seen[static_cast<size_t>(now_ns % step_ns * kParts / step_ns)];
    EXPECT_GE(*std::ranges::min_element(seen), 3) << step_ns;
    EXPECT_NEAR(static_cast<double>(now_ns), 80.0 * kAsked, 0.02 * 80 * kAsked);
  }
}

TEST(SamplingPace, ClocksThatGoBackAreHarmless) {
  SamplingPace pace(kAsked);
  pace.Tick(5'000 * kNsPerMs, 100, 100);
  pace.Tick(7'000 * kNsPerMs, 50, 20);
  pace.Tick(2'000 * kNsPerMs, 0, 0);
  EXPECT_GE(pace.period_ns(), kAsked);
  EXPECT_LE(pace.period_ns(), SamplingPace::kLongestPeriodNs);
}

}  // namespace
}  // namespace eroica
