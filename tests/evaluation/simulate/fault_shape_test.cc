// What each value of a fault's shape changes; that the defaults are what they always were is held
// by tests/scenarios/job_hashes.txt.
#include "tests/evaluation/simulate/fault_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/evaluation/simulate/fault_plan.h"

namespace eroica::simulate {
namespace {

constexpr uint32_t kSteps = 1'000;

// 8 hosts of 8 ranks in one data group.
SimulatedJob Job(FaultKind kind, const FaultShape& shape, double severity = 0.25) {
  SimulatedJob job;
  job.layout = {.data = 64};
  job.steps = kSteps;
  job.faults = {{.kind = kind, .ranks = {9}, .severity = severity, .shape = shape}};
  return job;
}

class Shown {
 public:
  explicit Shown(const SimulatedJob& job) : plan_(job, catalog_) {}

  StepEffects At(uint32_t rank, uint32_t step) const {
    StepEffects effects;
    plan_.EffectsOn(rank, step, effects);
    return effects;
  }
  // Of the rank's steps, how many are so.
  template <typename Is>
  uint32_t Count(uint32_t rank, Is is) const {
    uint32_t count = 0;
    for (uint32_t step = 0; step < kSteps; ++step) count += is(At(rank, step)) ? 1 : 0;
    return count;
  }

 private:
  FunctionCatalog catalog_;
  FaultPlan plan_;
};

bool Inserts(const StepEffects& effects) { return !effects.insertions.empty(); }
bool Slows(const StepEffects& effects) { return effects.kernel[0] > kUnit; }
bool Pulses(const StepEffects& effects) { return effects.pulses.duration_ns > 0; }

TEST(FaultShape, SharesOfStepsAreThoseInWhichItStrikes) {
  for (const double share : {0.1, 0.8}) {
    EXPECT_NEAR(
        Shown(Job(FaultKind::kMemoryFragmentation, {.fragmented_share = share})).Count(9, Inserts),
        share * kSteps, 50);
    EXPECT_NEAR(
        Shown(Job(FaultKind::kGarbageCollection, {.collecting_share = share})).Count(9, Inserts),
        share * kSteps, 50);
    EXPECT_NEAR(Shown(Job(FaultKind::kTransientSpike, {.spike_share = share})).Count(9, Slows),
                share * kSteps, 50);
  }
}

TEST(FaultShape, CollectionsShowInSoManyPlaces) {
  for (const uint32_t places : {1u, 3u, 8u}) {
    const Shown shown(
        Job(FaultKind::kGarbageCollection, {.collecting_share = 1, .collecting_places = places}));
    std::set<uint32_t> functions;
    for (uint32_t step = 0; step < 300; ++step)
      functions.insert(shown.At(9, step).insertions.at(0).function);
    EXPECT_EQ(functions.size(), places);
  }
}

TEST(FaultShape, PausesHaveTheirLengths) {
  const Shown shown(Job(FaultKind::kEccRetries, {.pause_ns = 3'000'000, .pause_lengths = 3}));
  std::set<int64_t> lengths;
  for (uint32_t step = 0; step < 100; ++step) lengths.insert(shown.At(9, step).pulses.duration_ns);
  EXPECT_EQ(lengths, (std::set<int64_t>{3'000'000, 6'000'000, 12'000'000}));
}

TEST(FaultShape, PulsesTakePartOfTheClock) {
  const Shown shown(
      Job(FaultKind::kPowerThrottling,
          {.pulse_ns = 1'000'000, .pulse_lengths = 1, .pulse_loss = 0.25, .turn_share = 1}));
  EXPECT_EQ(shown.At(9, 5).pulses.duration_ns, 250'000);
}

TEST(FaultShape, PausesMayComeAsTimePasses) {
  const Shown shown(Job(FaultKind::kEccRetries, {.pause_ns = 1'000'000, .by_time = true}, 0.25));
  EXPECT_EQ(shown.At(9, 5).pulses.duration_ns, 1'000'000);
  EXPECT_EQ(shown.At(9, 5).pulses.period_ns, 4'000'000);
}

TEST(FaultShape, RanksThrottleByTurnsOrForGood) {
  const auto count = [](const FaultShape& shape) {
    return Shown(Job(FaultKind::kPowerThrottling, shape)).Count(9, Pulses);
  };
  EXPECT_EQ(count({.turn_share = 1}), kSteps);
  EXPECT_NEAR(count({.turn_steps = 1, .turn_share = 0.2}), 0.2 * kSteps, 50);
  EXPECT_NEAR(count({.turn_steps = 1, .turn_share = 0.9}), 0.9 * kSteps, 50);
  const Shown long_turns(Job(FaultKind::kPowerThrottling, {.turn_steps = 100}));
  for (uint32_t step = 0; step < kSteps; ++step)
    EXPECT_EQ(Pulses(long_turns.At(9, step)), Pulses(long_turns.At(9, step / 100 * 100)));
}

TEST(FaultShape, HeatComesAndGoesWithItsPeriod) {
  const Shown shown(Job(FaultKind::kThermalThrottling, {.period_steps = 30}, 0.6));
  EXPECT_NEAR(shown.At(9, 15).kernel[0], 1.6 * kUnit, 2);
  EXPECT_EQ(shown.At(9, 0).kernel[0], kUnit);
  EXPECT_EQ(shown.At(9, 30).kernel[0], kUnit);
}

TEST(FaultShape, ALostNicLeavesTheSharesThatItSays) {
  const Shown shown(Job(FaultKind::kNicDown, {.own_nic_share = 0.25, .neighbor_nic_share = 0.75}));
  EXPECT_EQ(shown.At(9, 0).nic_send, kUnit / 4);
  EXPECT_EQ(shown.At(8, 0).nic_receive, 3 * kUnit / 4);
  EXPECT_EQ(shown.At(10, 0).nic_send, kUnit);
}

TEST(FaultShape, AFlappingNicLosesWhatItSays) {
  const Shown shown(Job(FaultKind::kNicFlapping, {.flapping_loss = 0.5}, 1));
  EXPECT_EQ(shown.At(9, 0).nic_send, kUnit / 2);
}

TEST(FaultShape, ASharedDeviceSlowsItsLinksByTheirShare) {
  EXPECT_EQ(Shown(Job(FaultKind::kGpuShared, {.link_share = 0})).At(9, 0).nvlink, kUnit);
  const StepEffects twice = Shown(Job(FaultKind::kGpuShared, {.link_share = 2})).At(9, 0);
  EXPECT_NEAR(twice.nvlink, kUnit / 1.5, 2);
  EXPECT_NEAR(twice.kernel[0], 1.25 * kUnit, 2);
}

TEST(FaultShape, OfAStolenProcessorSamplesShowAShare) {
  const auto level = [](double seen) {
    return Shown(Job(FaultKind::kCpuStolen, {.seen_share = seen})).At(9, 0).cpu_level;
  };
  EXPECT_EQ(level(0), kUnit);
  EXPECT_LT(level(1), kUnit);
  EXPECT_NEAR(2.0 * level(0.5), 1.0 * kUnit + level(1), 2);
}

TEST(FaultShape, WaitsDifferByTheirSpread) {
  for (const double spread : {0.0, 1.0}) {
    const Shown shown(Job(FaultKind::kDataLoaderSlow, {.wait_spread = spread}));
    int64_t shortest_ns = kSteps * int64_t{1'000'000'000};
    int64_t longest_ns = 0;
    for (uint32_t step = 0; step < kSteps; ++step) {
      const int64_t wait_ns = shown.At(9, step).insertions.at(0).duration_ns;
      shortest_ns = std::min(shortest_ns, wait_ns);
      longest_ns = std::max(longest_ns, wait_ns);
    }
    EXPECT_EQ(longest_ns > shortest_ns, spread > 0);
    if (spread > 0) {
      EXPECT_GT(static_cast<double>(longest_ns), 50 * static_cast<double>(shortest_ns));
    }
  }
}

TEST(FaultShape, ASlotMayStandAloneOrBeforeItsNic) {
  SimulatedJob job = Job(FaultKind::kPcieDowngrade, {}, 0.75);
  EXPECT_NEAR(Shown(job).At(9, 0).nic_send, 1.25 * kUnit / 4, 2);
  job.fabric.slot_over_nic = 100;
  EXPECT_EQ(Shown(job).At(9, 0).nic_send, kUnit);
  EXPECT_EQ(Shown(job).At(9, 0).pcie, kUnit / 4);
}

TEST(FaultShape, SlowMemoryIsSeenByNoClock) {
  const StepEffects effects = Shown(Job(FaultKind::kMemorySlow, {})).At(9, 0);
  EXPECT_NEAR(effects.memory, 1.25 * kUnit, 2);
  EXPECT_EQ(effects.kernel, StepEffects{}.kernel);
  EXPECT_EQ(effects.sm_clock, kUnit);
}

TEST(FaultShape, ALowerClockLeavesMemoryBoundKernels) {
  SimulatedJob job = Job(FaultKind::kGpuSlow, {});
  job.hardware.memory_bound.elementwise = 1;
  job.hardware.clock_on_memory = 0;
  const StepEffects effects = Shown(job).At(9, 0);
  EXPECT_EQ(effects.kernel[static_cast<size_t>(KernelKind::kElementwise)], kUnit);
  EXPECT_GT(effects.kernel[static_cast<size_t>(KernelKind::kMatrix)], kUnit);
}

TEST(FaultShape, VaryingLengthsAreOtherOnesEachStepForEachReplica) {
  const Shown shown(Job(FaultKind::kVaryingLengths, {}, 0.4));
  EXPECT_EQ(shown.At(9, 0).micro_batches.size(), Workload{}.micro_batches);
  EXPECT_NE(shown.At(9, 0).micro_batches, shown.At(9, 1).micro_batches);
  EXPECT_NE(shown.At(9, 0).micro_batches, shown.At(10, 0).micro_batches);
}

}  // namespace
}  // namespace eroica::simulate
