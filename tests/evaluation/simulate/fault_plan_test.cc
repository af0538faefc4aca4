#include "tests/evaluation/simulate/fault_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/evaluation/simulate/fault_library.h"
#include "tests/evaluation/simulate/fault_strikes.h"

namespace eroica::simulate {
namespace {

// 8 hosts of 8 ranks in 2 racks; tensor 2, data 8, pipeline 4, experts 4.
SimulatedJob PlannedJob() {
  SimulatedJob job;
  job.layout = {.tensor = 2, .data = 8, .pipeline = 4, .expert = 4};
  job.workload.expert_every = 2;
  job.workload.routing_spread = 0;
  job.steps = 400;
  return job;
}

constexpr uint32_t kFirstStep = 40;
constexpr uint32_t kLastStep = 239;

Fault MakeFault(FaultKind kind) {
  return {.kind = kind,
          .ranks = {19},
          .peer_rank = 10,
          .severity = 0.3,
          .first_step = kFirstStep,
          .last_step = kLastStep};
}

bool SameInsertions(const StepEffects& a, const StepEffects& b) {
  return std::equal(a.insertions.begin(), a.insertions.end(), b.insertions.begin(),
                    b.insertions.end(), [](const HostInsertion& x, const HostInsertion& y) {
                      return x.phase == y.phase && x.function == y.function &&
                             x.duration_ns == y.duration_ns;
                    });
}

bool Same(const StepEffects& a, const StepEffects& b) {
  return a.kernel == b.kernel && a.host == b.host && a.work == b.work &&
         a.expert_work == b.expert_work && a.nvlink == b.nvlink && a.nic_send == b.nic_send &&
         a.nic_receive == b.nic_receive && a.pcie == b.pcie &&
         a.nvlink_over_pcie == b.nvlink_over_pcie && a.sm_clock == b.sm_clock &&
         a.cpu_level == b.cpu_level && a.memory == b.memory && a.micro_batches == b.micro_batches &&
         a.pulses.per_million_kernels == b.pulses.per_million_kernels &&
         a.pulses.duration_ns == b.pulses.duration_ns && SameInsertions(a, b) && a.stop == b.stop &&
         a.telemetry_loss == b.telemetry_loss;
}

bool Healthy(const StepEffects& effects) { return Same(effects, StepEffects{}); }

// How often the rank shows the fault in the steps [begin, end).
uint32_t Shows(const FaultPlan& plan, uint32_t rank, uint32_t begin, uint32_t end) {
  uint32_t steps = 0;
  StepEffects effects;
  for (uint32_t step = begin; step < end; ++step) {
    plan.EffectsOn(rank, step, effects);
    steps += Healthy(effects) ? 0 : 1;
  }
  return steps;
}

// Who should be struck where rank 19 is named: host 2, rack 0, stage 1, data replica 1, expert 1 of
// the group of replicas 0 to 3.
std::set<uint32_t> Expected(FaultKind kind) {
  const auto range = [](uint32_t begin, uint32_t end) {
    std::set<uint32_t> ranks;
    for (uint32_t rank = begin; rank < end; ++rank) ranks.insert(rank);
    return ranks;
  };
  if (kind == FaultKind::kNicDown) return {18, 19};
  if (kind == FaultKind::kExpertImbalance)
    return range(16, 24);  // what one expert gets, its group does not
  switch (Describe(kind).reach) {
    case FaultReach::kRanks: return {19};
    case FaultReach::kHosts: return range(16, 24);
    case FaultReach::kRacks:
      return kind == FaultKind::kCongestedPath ? std::set<uint32_t>{} : range(0, 32);
    case FaultReach::kStages: return range(16, 32);
    case FaultReach::kDataReplicas: return {2, 3, 18, 19, 34, 35, 50, 51};
    case FaultReach::kExperts: return {18, 19};
    case FaultReach::kPath: return {};
    case FaultReach::kEveryone: return range(0, 64);
  }
  return {};
}

class EveryFault : public testing::TestWithParam<int> {
 protected:
  FaultKind kind() const { return static_cast<FaultKind>(GetParam()); }
};

std::string FaultName(const testing::TestParamInfo<int>& info) {
  return std::string(ToString(static_cast<FaultKind>(info.param)));
}

TEST_P(EveryFault, StrikesWhomItShouldAndNobodyElse) {
  SimulatedJob job = PlannedJob();
  job.faults = {MakeFault(kind())};
  ASSERT_TRUE(Check(job).ok()) << Check(job);
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  const std::set<uint32_t> expected = Expected(kind());
  for (uint32_t rank = 0; rank < job.layout.world_size(); ++rank) {
    EXPECT_EQ(Shows(plan, rank, 0, kFirstStep), 0u) << rank;
    EXPECT_EQ(Shows(plan, rank, kLastStep + 1, job.steps), 0u) << rank;
    EXPECT_EQ(Shows(plan, rank, kFirstStep, kLastStep + 1) > 0, expected.contains(rank)) << rank;
  }
  std::vector<PathEffect> paths;
  plan.PathsIn(kFirstStep - 1, paths);
  EXPECT_TRUE(paths.empty());
  plan.PathsIn(kFirstStep, paths);
  EXPECT_EQ(paths.empty(), !expected.empty());
  plan.PathsIn(kLastStep + 1, paths);
  EXPECT_TRUE(paths.empty());
}

TEST_P(EveryFault, IsTheSameInAnyOrderOfAsking) {
  SimulatedJob job = PlannedJob();
  job.faults = {MakeFault(kind())};
  FunctionCatalog catalog;
  FunctionCatalog other_catalog;
  const FaultPlan plan(job, catalog);
  const FaultPlan other_plan(job, other_catalog);
  StepEffects forth;
  StepEffects back;
  std::vector<StepEffects> seen;
  for (uint32_t step = 30; step < 60; ++step) {
    plan.EffectsOn(19, step, forth);
    seen.push_back(forth);
  }
  for (uint32_t step = 60; step-- > 30;) {
    other_plan.EffectsOn(19, step, back);
    EXPECT_TRUE(Same(back, seen[step - 30])) << step;
  }
}

TEST_P(EveryFault, ShowsInTheShareOfStepsThatIsItsDuty) {
  SimulatedJob job = PlannedJob();
  Fault fault = MakeFault(kind());
  FunctionCatalog catalog;
  job.faults = {fault};
  const uint32_t always = Shows(FaultPlan(job, catalog), 19, kFirstStep, kLastStep + 1);
  job.faults[0].duty = 0.4;
  const uint32_t at_times = Shows(FaultPlan(job, catalog), 19, kFirstStep, kLastStep + 1);
  EXPECT_NEAR(at_times, 0.4 * always, 5 + 0.15 * always);
}

TEST_P(EveryFault, MayBeGross) {
  SimulatedJob job = PlannedJob();
  job.faults = {MakeFault(kind())};
  job.faults[0].severity = 1e9;
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  StepEffects effects;
  for (uint32_t step = kFirstStep; step < kFirstStep + 20; ++step) {
    plan.EffectsOn(19, step, effects);
    EXPECT_GT(effects.nic_send, 0u);
    EXPECT_GT(effects.nic_receive, 0u);
    EXPECT_GT(effects.nvlink, 0u);
    EXPECT_LE(effects.pulses.per_million_kernels, 1'000'000u);
    EXPECT_LE(effects.telemetry_loss, kUnit);
    EXPECT_GE(effects.kernel[0], kUnit);
    EXPECT_GE(effects.host, kUnit);
    for (const HostInsertion& insertion : effects.insertions) EXPECT_GT(insertion.duration_ns, 0);
  }
  std::vector<PathEffect> paths;
  plan.PathsIn(kFirstStep, paths);
  for (const PathEffect& path : paths) EXPECT_GT(path.speed, 0u);
}

INSTANTIATE_TEST_SUITE_P(FaultPlan, EveryFault, testing::Range(0, kFaultKindCount), FaultName);

StepEffects EffectsAt(const SimulatedJob& job, uint32_t rank, uint32_t step) {
  FunctionCatalog catalog;
  StepEffects effects;
  FaultPlan(job, catalog).EffectsOn(rank, step, effects);
  return effects;
}

TEST(FaultPlan, OfAHealthyJobChangesNothing) {
  FunctionCatalog catalog;
  const FaultPlan plan(PlannedJob(), catalog);
  EXPECT_TRUE(catalog.functions().empty());
  for (uint32_t rank = 0; rank < 64; ++rank) EXPECT_EQ(Shows(plan, rank, 0, 20), 0u);
}

TEST(FaultPlan, TwoFaultsOfARankMultiply) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kGpuSlow, .ranks = {3}, .severity = 0.5},
                {.kind = FaultKind::kGpuShared, .ranks = {3}, .severity = 0.2}};
  const StepEffects effects = EffectsAt(job, 3, 7);
  EXPECT_NEAR(effects.kernel[0], 1.8 * kUnit, 3);
  EXPECT_NEAR(effects.sm_clock, kUnit / 1.5, 3);
  EXPECT_NEAR(effects.nvlink, kUnit / 1.2, 3);
}

TEST(FaultPlan, GrossFaultsOfARankDoNotWrapAround) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kGpuSlow, .ranks = {3}, .severity = 1e9},
                {.kind = FaultKind::kThermalThrottling, .ranks = {3}, .severity = 1e9}};
  Factor before = kUnit;
  for (uint32_t step = 0; step <= 6; ++step) {
    const Factor kernel = EffectsAt(job, 3, step).kernel[0];
    EXPECT_GE(kernel, before) << step;
    before = kernel;
  }
}

TEST(FaultPlan, SlowGpuIsSeenByItsClockAndASharedOneIsNot) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kGpuSlow, .ranks = {3}, .severity = 0.25}};
  EXPECT_NEAR(EffectsAt(job, 3, 0).sm_clock, kUnit / 1.25, 2);
  job.faults[0].kind = FaultKind::kGpuShared;
  EXPECT_EQ(EffectsAt(job, 3, 0).sm_clock, kUnit);
}

TEST(FaultPlan, ThermalThrottlingRisesAndFalls) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kThermalThrottling, .ranks = {3}, .severity = 0.6}};
  std::vector<Factor> kernel;
  for (uint32_t step = 0; step < 13; ++step) kernel.push_back(EffectsAt(job, 0, step).kernel[0]);
  EXPECT_TRUE(std::is_sorted(kernel.begin(), kernel.begin() + 7));
  EXPECT_TRUE(std::is_sorted(kernel.rbegin(), kernel.rbegin() + 7));
  EXPECT_NEAR(kernel[6], 1.6 * kUnit, 2);
  EXPECT_EQ(kernel[0], kUnit);
}

TEST(FaultPlan, PulsesLengthenKernelsByTheSeverity) {
  SimulatedJob job = PlannedJob();
  FunctionCatalog catalog;
  const SimulatedJob healthy_job = job;
  const HealthyStep healthy(healthy_job, catalog);
  for (const FaultKind kind : {FaultKind::kEccRetries, FaultKind::kPowerThrottling}) {
    job.faults = {{.kind = kind, .ranks = {0}, .severity = 0.1}};
    const FaultPlan plan(job, catalog);
    StepEffects effects;
    double longer = 0;
    uint32_t steps = 0;
    for (uint32_t step = 0; step < 400; ++step) {
      plan.EffectsOn(0, step, effects);
      if (effects.pulses.duration_ns == 0) continue;
      ++steps;
      longer += 1e-6 * effects.pulses.per_million_kernels *
                static_cast<double>(effects.pulses.duration_ns) /
                static_cast<double>(healthy.mean_kernel_ns(0));
    }
    EXPECT_NEAR(longer / steps, 0.1, 0.001) << ToString(kind);
    EXPECT_NEAR(steps, kind == FaultKind::kEccRetries ? 400 : 200,
                kind == FaultKind::kEccRetries ? 0 : 60)
        << ToString(kind);
  }
}

TEST(FaultPlan, HostFunctionsTakeTheirShareOfAStep) {
  SimulatedJob job = PlannedJob();
  FunctionCatalog catalog;
  const int64_t step_ns = HealthyStep(job, catalog).step_ns();
  job.faults = {{.kind = FaultKind::kPinMemory, .ranks = {5}, .severity = 0.25}};
  const FaultPlan plan(job, catalog);
  StepEffects effects;
  plan.EffectsOn(5, 3, effects);
  ASSERT_EQ(effects.insertions.size(), 1u);
  EXPECT_EQ(effects.insertions[0].duration_ns, step_ns / 4);
  EXPECT_EQ(effects.insertions[0].phase, Phase::kData);
  EXPECT_EQ(catalog.functions()[effects.insertions[0].function].name,
            "<built-in method pin_memory of Tensor>");
}

TEST(FaultPlan, SlowStorageIsAWaitForNobodysPeer) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kStorageSlow, .ranks = {5}, .severity = 0.25}};
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  StepEffects effects;
  plan.EffectsOn(0, 3, effects);
  ASSERT_EQ(effects.insertions.size(), 1u);
  const FunctionDef& function = catalog.functions()[effects.insertions[0].function];
  EXPECT_NE(function.name.find("recv_into"), std::string::npos);
  EXPECT_EQ(function.wait, WaitKind::kOther);
  EXPECT_EQ(function.function_class, FunctionClass::kPython);
}

TEST(FaultPlan, StolenProcessorMakesTheStepOfARankLonger) {
  SimulatedJob job = PlannedJob();
  FunctionCatalog catalog;
  const SimulatedJob healthy_job = job;
  const HealthyStep healthy(healthy_job, catalog);
  job.faults = {{.kind = FaultKind::kCpuStolen, .ranks = {16}, .severity = 0.2}};
  const StepEffects effects = EffectsAt(job, 17, 0);
  const auto alone_ns =
      static_cast<double>(healthy.AloneNs(1, static_cast<double>(effects.host) / kUnit));
  EXPECT_NEAR(alone_ns / static_cast<double>(healthy.AloneNs(1, 1)), 1.2, 0.002);
  EXPECT_LT(effects.cpu_level, kUnit);
  EXPECT_EQ(EffectsAt(job, 15, 0).host, kUnit);
}

TEST(FaultPlan, GarbageIsCollectedByEachRankInItsOwnSteps) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kGarbageCollection, .severity = 0.2}};
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  std::set<uint32_t> functions;
  uint32_t pauses = 0;
  uint32_t steps_with_pause = 0;
  StepEffects effects;
  for (uint32_t step = 0; step < 100; ++step) {
    uint32_t in_step = 0;
    for (uint32_t rank = 0; rank < 64; ++rank) {
      plan.EffectsOn(rank, step, effects);
      for (const HostInsertion& insertion : effects.insertions)
        functions.insert(insertion.function);
      in_step += effects.insertions.empty() ? 0 : 1;
    }
    EXPECT_LT(in_step, 32u);
    pauses += in_step;
    steps_with_pause += in_step > 0 ? 1 : 0;
  }
  EXPECT_NEAR(pauses, 640, 100);
  EXPECT_GT(steps_with_pause, 95u);
  EXPECT_EQ(functions.size(), 4u);
}

TEST(FaultPlan, LostNicSharesItsNeighbors) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kNicDown, .ranks = {19}}};
  EXPECT_LT(EffectsAt(job, 19, 0).nic_send, EffectsAt(job, 18, 0).nic_send);
  EXPECT_EQ(EffectsAt(job, 18, 0).nic_receive, kUnit / 2);
  job.faults[0].ranks = {18, 19};
  EXPECT_EQ(EffectsAt(job, 18, 0).nic_send, EffectsAt(job, 19, 0).nic_send);
}

TEST(FaultPlan, LinkIsSlowBothWaysAndPathsComeInOrder) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kLinkSlow, .ranks = {16, 17}, .peer_rank = 8, .severity = 0.5},
                {.kind = FaultKind::kCongestedPath, .ranks = {0}, .severity = 0.5},
                {.kind = FaultKind::kLinkSlow, .ranks = {0}, .peer_rank = 32, .severity = 0.5}};
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  std::vector<PathEffect> paths;
  plan.PathsIn(0, paths);
  const auto ends = [](const PathEffect& path) {
    return std::pair(path.source_host, path.destination_host);
  };
  EXPECT_EQ(paths.size(), 2u + 2 * 4 * 4);
  for (size_t i = 1; i < paths.size(); ++i) EXPECT_LT(ends(paths[i - 1]), ends(paths[i]));
  for (const PathEffect& path : paths) {
    const bool twice = (path.source_host == 0 && path.destination_host == 4) ||
                       (path.source_host == 4 && path.destination_host == 0);
    EXPECT_EQ(path.speed, twice ? kUnit / 4 : kUnit / 2);
    const bool link = ends(path) == std::pair(2u, 1u) || ends(path) == std::pair(1u, 2u);
    EXPECT_TRUE(link || (path.source_host < 4) != (path.destination_host < 4));
  }
}

TEST(FaultPlan, HotExpertTakesFromItsGroup) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kExpertImbalance, .ranks = {19}, .severity = 0.9}};
  EXPECT_NEAR(EffectsAt(job, 18, 0).expert_work, 1.9 * kUnit, 2);
  EXPECT_NEAR(EffectsAt(job, 21, 0).expert_work, 0.7 * kUnit, 2);
  EXPECT_EQ(EffectsAt(job, 24, 0).expert_work, kUnit);
  job.faults[0].ranks.clear();
  double sum = 0;
  for (const uint32_t rank : {16u, 18u, 20u, 22u}) {
    EXPECT_EQ(EffectsAt(job, rank, 0).expert_work, EffectsAt(job, rank + 1, 9).expert_work);
    sum += EffectsAt(job, rank, 0).expert_work;
  }
  EXPECT_NEAR(sum, 4.0 * kUnit, 8);
}

TEST(FaultPlan, UnequalDataStayWithTheirReplica) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kSequenceImbalance, .severity = 0.3}};
  std::set<Factor> lengths;
  for (uint32_t data = 0; data < 8; ++data) {
    const Factor length = EffectsAt(job, 2 * data, 0).work;
    lengths.insert(length);
    EXPECT_EQ(EffectsAt(job, 2 * data + 1, 5).work, length);
    EXPECT_EQ(EffectsAt(job, 2 * data + 48, 5).work, length);
  }
  EXPECT_GT(lengths.size(), 6u);
}

TEST(FaultPlan, HangsAreSaidFromTheirStepOn) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kHostHang, .ranks = {7}, .first_step = 5}};
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  StepEffects effects;
  plan.EffectsOn(7, 4, effects);
  EXPECT_EQ(effects.stop, Stop::kNone);
  plan.EffectsOn(7, 5, effects);
  EXPECT_EQ(effects.stop, Stop::kHostHangs);
  EXPECT_EQ(catalog.functions()[effects.stop_function].name, "queue.py: put");
}

TEST(FaultPlan, DrawsLengthsByReplicaAndStep) {
  SimulatedJob job = PlannedJob();
  job.workload.length_spread = 0.3;
  EXPECT_EQ(EffectsAt(job, 4, 3).work, EffectsAt(job, 5, 3).work);
  EXPECT_EQ(EffectsAt(job, 4, 3).work, EffectsAt(job, 4 + 48, 3).work);
  EXPECT_NE(EffectsAt(job, 4, 3).work, EffectsAt(job, 4, 4).work);
  EXPECT_NE(EffectsAt(job, 4, 3).work, EffectsAt(job, 6, 3).work);
}

TEST(FaultPlan, RoutesEveryTokenOnce) {
  SimulatedJob job = PlannedJob();
  job.workload.routing_spread = 0.4;
  for (uint32_t step = 0; step < 10; ++step) {
    double sum = 0;
    for (const uint32_t rank : {24u, 26u, 28u, 30u}) {
      sum += EffectsAt(job, rank, step).expert_work;
      EXPECT_EQ(EffectsAt(job, rank, step).expert_work, EffectsAt(job, rank + 1, step).expert_work);
    }
    EXPECT_NEAR(sum, 4.0 * kUnit, 8);
  }
  EXPECT_NE(EffectsAt(job, 24, 0).expert_work, EffectsAt(job, 24, 1).expert_work);
  EXPECT_NE(EffectsAt(job, 24, 0).expert_work, EffectsAt(job, 8, 0).expert_work);
  EXPECT_EQ(EffectsAt(job, 24, 0).work, kUnit);
}

TEST(FaultPlan, WarmsUpEvenly) {
  SimulatedJob job = PlannedJob();
  job.workload.warmup_steps = 4;
  job.workload.warmup_factor = 3;
  EXPECT_EQ(EffectsAt(job, 0, 0).kernel[0], 3 * kUnit);
  EXPECT_EQ(EffectsAt(job, 9, 2).host, 2 * kUnit);
  EXPECT_TRUE(Healthy(EffectsAt(job, 0, 4)));
}

TEST(FaultPlan, KeepsTheRoomOfInsertions) {
  SimulatedJob job = PlannedJob();
  job.faults = {{.kind = FaultKind::kPinMemory, .ranks = {5}, .duty = 0.5}};
  FunctionCatalog catalog;
  const FaultPlan plan(job, catalog);
  StepEffects effects;
  effects.insertions.reserve(4);
  const HostInsertion* room = effects.insertions.data();
  for (uint32_t step = 0; step < 50; ++step) {
    plan.EffectsOn(5, step, effects);
    EXPECT_EQ(effects.insertions.data(), room);
  }
}

}  // namespace
}  // namespace eroica::simulate
