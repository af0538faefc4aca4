#include "tests/evaluation/simulate/micro_batch_lengths.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eroica::simulate {
namespace {

TEST(MicroBatchLengths, KeepTheWorkOnTheMean) {
  const MicroBatchLengths lengths(0.4, 8, 1);
  double sum = 0;
  double logs = 0;
  double squares = 0;
  constexpr uint32_t kSteps = 5'000;
  for (uint32_t step = 0; step < kSteps; ++step) {
    std::vector<Factor> drawn;
    lengths.MultiplyInto(3, step, drawn);
    ASSERT_EQ(drawn.size(), 8u);
    for (const Factor one : drawn) {
      const double length = static_cast<double>(one) / kUnit;
      sum += length;
      logs += std::log(length);
      squares += std::log(length) * std::log(length);
    }
  }
  const double count = 8.0 * kSteps;
  EXPECT_NEAR(sum / count, 1, 0.01);
  EXPECT_NEAR(std::sqrt(squares / count - logs / count * (logs / count)), 0.4, 0.01);
}

TEST(MicroBatchLengths, DifferByReplicaStepAndMicroBatch) {
  const MicroBatchLengths lengths(0.2, 4, 1);
  const auto of = [&](uint32_t replica, uint32_t step) {
    std::vector<Factor> drawn;
    lengths.MultiplyInto(replica, step, drawn);
    return drawn;
  };
  EXPECT_EQ(of(1, 2), of(1, 2));
  EXPECT_NE(of(1, 2), of(1, 3));
  EXPECT_NE(of(1, 2), of(2, 2));
  EXPECT_NE(of(1, 2)[0], of(1, 2)[1]);
}

TEST(MicroBatchLengths, Multiply) {
  const MicroBatchLengths lengths(0.2, 2, 1);
  std::vector<Factor> once;
  lengths.MultiplyInto(0, 0, once);
  std::vector<Factor> twice = {2 * kUnit, 2 * kUnit};
  lengths.MultiplyInto(0, 0, twice);
  EXPECT_NEAR(twice[0], 2.0 * once[0], 2);
  EXPECT_NEAR(twice[1], 2.0 * once[1], 2);
}

}  // namespace
}  // namespace eroica::simulate
