#include "diagnosis/hypotheses/device_cause.h"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

namespace eroica {
namespace {

constexpr double kError = 0.004;

struct Longer {
  double compute = 0;
  double memory = 0;
  double parameters = 0;
  double typical = 0;
  double calls = 0;
  double clock = 0;  // own / usual - 1
};

KernelChanges Measured(const Longer& longer, double error = kError) {
  KernelChanges changes;
  changes.slow_share = 1;
  changes[KernelMeasurement::kCompute] = {longer.compute, error};
  changes[KernelMeasurement::kMemory] = {longer.memory, error};
  changes[KernelMeasurement::kParameters] = {longer.parameters, error};
  changes[KernelMeasurement::kTypical] = {longer.typical, error};
  changes[KernelMeasurement::kCalls] = {longer.calls, error};
  changes[KernelMeasurement::kClock] = ClockChangeBetween(longer.clock, longer.clock, error);
  return changes;
}

Longer LowClock(double size) {
  return {.compute = size,
          .memory = 0.1 * size,
          .parameters = 0.1 * size,
          .typical = size,
          .clock = 1 / (1 + size) - 1};
}
Longer SlowMemory(double size) {
  return {.compute = 0.15 * size, .memory = size, .parameters = size, .typical = 0.3 * size};
}
Longer Shared(double size) {
  return {.compute = size, .memory = size, .parameters = size, .typical = size};
}
Longer Pauses(double size) { return {.compute = size, .memory = size, .parameters = size}; }
Longer MoreData(double size) { return {.compute = size, .memory = size, .typical = size}; }
Longer MoreLayers(double size) { return {.calls = size}; }

class FaultOfSize : public ::testing::TestWithParam<double> {};

TEST_P(FaultOfSize, IsNamedByWhatItDoes) {
  const double size = GetParam();
  using Cause = DeviceCause;
  EXPECT_EQ(DeviceCauses(Measured(LowClock(size))).decided(), Cause::kLowClock);
  EXPECT_EQ(DeviceCauses(Measured(SlowMemory(size))).decided(), Cause::kSlowMemory);
  EXPECT_EQ(DeviceCauses(Measured(Shared(size))).decided(), Cause::kShared);
  EXPECT_EQ(DeviceCauses(Measured(Pauses(size))).decided(), Cause::kPauses);
  EXPECT_EQ(DeviceCauses(Measured(MoreData(size))).decided(), Cause::kMoreData);
  EXPECT_EQ(DeviceCauses(Measured(MoreLayers(size))).decided(), Cause::kMoreLayers);
}

TEST_P(FaultOfSize, IsUndecidedWhereNothingTellsTwoApart) {
  KernelChanges changes = Measured(Shared(GetParam()));
  changes[KernelMeasurement::kClock].reset();
  changes[KernelMeasurement::kMemory].reset();
  const DeviceCauses causes(changes);
  EXPECT_EQ(causes.decided(), std::nullopt) << "a lower clock, or somebody else";
  EXPECT_TRUE(causes.is_device());
  EXPECT_FALSE(causes.is_more_work());
}

// Without the clock and the optimizer, kernels that memory bounds say that it is not the inputs.
TEST_P(FaultOfSize, IsOfTheDeviceWhereMemoryDoesNotMind) {
  KernelChanges changes = Measured(LowClock(GetParam()));
  changes[KernelMeasurement::kClock].reset();
  changes[KernelMeasurement::kParameters].reset();
  EXPECT_GT(DeviceCauses(changes).of_device(), DeviceCauses(changes).of_more_work());
}

TEST_P(FaultOfSize, IsNotNamedAgainstAllOthersByOneOddMeasurement) {
  Longer odd = Shared(GetParam());
  odd.calls = 0.5 * GetParam();
  EXPECT_EQ(DeviceCauses(Measured(odd)).decided(), DeviceCause::kShared);
}

INSTANTIATE_TEST_SUITE_P(DeviceCauses, FaultOfSize, ::testing::Values(0.04, 0.1, 0.3, 0.8));

TEST(DeviceCauses, InputsThatComeAndGoLeaveTheTypicalCallAsItIs) {
  Longer longer = MoreData(0.07);
  longer.typical = 0.015;
  KernelChanges changes = Measured(longer);
  EXPECT_FALSE(DeviceCauses(changes).is_more_work()) << "pauses that miss the optimizer";
  for (const std::optional<double> slow_share : {std::optional(0.4), std::optional<double>()}) {
    changes.slow_share = slow_share;
    EXPECT_FALSE(DeviceCauses(changes).is_device());
  }
}

TEST(DeviceCauses, ProbabilitiesAreThoseOfOneCauseOrNone) {
  const DeviceCauses causes(Measured(Shared(0.1)));
  EXPECT_GT(causes.of_device() + causes.of_more_work(), 0.5);
  EXPECT_LE(causes.of_device() + causes.of_more_work(), 1 + 1e-12);
  const DeviceCauses of_nothing{KernelChanges()};
  EXPECT_EQ(of_nothing.decided(), std::nullopt);
  EXPECT_FALSE(of_nothing.is_device());
  EXPECT_FALSE(of_nothing.is_more_work());
}

TEST(DeviceCauses, NoiseAsLargeAsTheChangeDecidesNothing) {
  for (const Longer& longer : {LowClock(0.05), Shared(0.05), MoreData(0.05), MoreLayers(0.05)})
    EXPECT_EQ(DeviceCauses(Measured(longer, 0.05)).decided(), std::nullopt);
}

TEST(DeviceCauses, AClockSampledBetweenWaitsMayBeLower) {
  KernelChanges changes = Measured(Shared(0.1));
  changes[KernelMeasurement::kMemory].reset();
  EXPECT_EQ(DeviceCauses(changes).decided(), DeviceCause::kShared);
  changes[KernelMeasurement::kClock] = ClockChangeBetween(-0.09, 0, kError);
  const DeviceCauses between(changes);
  EXPECT_EQ(between.decided(), std::nullopt);
  EXPECT_TRUE(between.is_device());
}

TEST(DeviceCauses, MeasurementsMayBeOfAnySize) {
  for (const double value : {-1.0, 0.0, 1e-12, 1.0, 1e6}) {
    KernelChanges changes;
    for (auto& change : changes.of) change = {value, 1e-6};
    const DeviceCauses causes(changes);
    EXPECT_GE(causes.of_device(), 0) << value;
    EXPECT_LE(causes.of_device() + causes.of_more_work(), 1 + 1e-12) << value;
  }
}

}  // namespace
}  // namespace eroica
