// Whole jobs, with the programs and faults that scenarios use.
#include "tests/evaluation/simulate/job_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "schemas/codec.h"
#include "schemas/invariants.h"
#include "schemas/test_encoder.h"
#include "tests/evaluation/simulate/fault_library.h"
#include "tests/evaluation/simulate/ideal_step.h"

namespace eroica::simulate {
namespace {

struct BatchCheck : BatchSink {
  absl::Status Write(const EventBatch& batch) override {
    EXPECT_EQ(CheckInvariants(batch), DropReason::kNone);
    EXPECT_EQ(decoder.Decode(encoder.Encode(batch), &decoded), DropReason::kNone);
    ++batches;
    finals += batch.final ? 1 : 0;
    progress += batch.progress.size();
    events += batch.intervals.size() + batch.samples.size() + batch.marks.size();
    for (size_t i = 0; i < batch.intervals.size(); ++i) {
      const bool computes =
          batch.functions[batch.intervals.function[i]].function_class == FunctionClass::kGpuCompute;
      if (computes && batch.identity.rank.value == 0) kernel_ns += batch.intervals.duration_ns[i];
    }
    return absl::OkStatus();
  }
  TestEncoder encoder;
  Decoder decoder;
  EventBatch decoded;
  uint64_t batches = 0;
  uint64_t finals = 0;
  uint64_t progress = 0;
  uint64_t events = 0;
  int64_t kernel_ns = 0;  // of rank 0
};

SimulatedJob SmallJob(const ParallelLayout& layout) {
  SimulatedJob job;
  job.layout = layout;
  job.workload.layers = 4 * layout.pipeline * layout.virtual_stages;
  job.workload.layer_forward_ns = 500'000;
  if (layout.expert > 1) job.workload.expert_every = 2;
  job.steps = 6;
  return job;
}

std::vector<ParallelLayout> Layouts() {
  return {{.data = 4},
          {.data = 16, .sharded = true},
          {.tensor = 4, .data = 2, .pipeline = 4},
          {.tensor = 2, .data = 2, .pipeline = 2, .virtual_stages = 2},
          {.tensor = 2,
           .context = 2,
           .data = 2,
           .pipeline = 4,
           .virtual_stages = 2,
           .ranks_per_host = 4},
          {.data = 8, .pipeline = 2, .expert = 4, .ranks_per_host = 4},
          {}};
}

TEST(Simulate, EveryLayoutRunsToItsEnd) {
  for (const ParallelLayout& layout : Layouts()) {
    SimulatedJob job = SmallJob(layout);
    job.workload.checkpoint = {.every = 3, .duration_ns = 20'000'000};
    job.workload.evaluation = {.every = 4, .duration_ns = 20'000'000};
    job.workload.garbage_collection = {.every = 2, .duration_ns = 5'000'000};
    BatchCheck check;
    const absl::StatusOr<SimulationReport> report = Simulate(job, check);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->hangs);
    EXPECT_EQ(report->steps, job.steps);
    EXPECT_EQ(report->events, check.events);
    EXPECT_EQ(check.finals, layout.world_size());
    EXPECT_EQ(check.progress, 0u);
    EXPECT_GE(check.batches, uint64_t{layout.world_size()} * job.steps);
  }
}

TEST(Simulate, StepsTakeAsLongAsTheirWorkAndSomeCommunication) {
  for (const ParallelLayout& layout : Layouts()) {
    SimulatedJob job = SmallJob(layout);
    job.workload.jitter = {.kernel = 0, .host = 0, .transfer = 0};
    job.workload.routing_spread = 0;
    BatchCheck check;
    const absl::StatusOr<SimulationReport> report = Simulate(job, check);
    const absl::StatusOr<int64_t> ideal_ns = IdealStepTime(job);
    ASSERT_TRUE(report.ok() && ideal_ns.ok()) << report.status() << ideal_ns.status();
    for (const int64_t step_ns : report->step_ns) {
      EXPECT_GE(step_ns, *ideal_ns - 1'000'000) << layout.world_size();
      EXPECT_LE(step_ns, 4 * *ideal_ns) << layout.world_size();
    }
  }
}

TEST(Simulate, JitterOfOneRankCostsAllOfThem) {
  SimulatedJob job = SmallJob({.tensor = 2, .data = 4, .pipeline = 2});
  job.steps = 12;
  const auto mean_step = [&job] {
    BatchCheck check;
    const absl::StatusOr<SimulationReport> report = Simulate(job, check);
    EXPECT_TRUE(report.ok());
    return std::accumulate(report->step_ns.begin(), report->step_ns.end(), int64_t{0}) / job.steps;
  };
  const int64_t healthy_ns = mean_step();
  job.faults.push_back({.kind = FaultKind::kGpuSlow, .ranks = {5}, .severity = 0.5});
  EXPECT_GT(mean_step(), healthy_ns + healthy_ns / 20);
}

TEST(Simulate, ThoseFaultsHangThatShould) {
  for (int i = 0; i < kFaultKindCount; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const bool stops = kind == FaultKind::kCollectiveMismatch || kind == FaultKind::kHostHang ||
                       kind == FaultKind::kCommunicationHang || kind == FaultKind::kRankDies;
    SimulatedJob job = SmallJob({.tensor = 2, .data = 4, .pipeline = 2, .ranks_per_host = 4});
    job.faults.push_back({.kind = kind, .ranks = {5}, .severity = 0.3, .first_step = 2});
    if (kind == FaultKind::kLinkSlow) job.faults.back().peer_rank = 12;
    if (absl::Status status = Check(job); !status.ok())
      continue;  // kinds that strike others than a rank
    BatchCheck check;
    const absl::StatusOr<SimulationReport> report = Simulate(job, check);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->hangs, stops) << ToString(kind);
    EXPECT_EQ(report->steps, stops ? 2u : job.steps) << ToString(kind);
    const uint64_t living = kind == FaultKind::kRankDies ? 15 : 16;
    EXPECT_EQ(check.progress, stops ? 30 * living : 0) << ToString(kind);
    EXPECT_EQ(check.finals, living) << ToString(kind);
  }
}

TEST(Simulate, ImpossibleJobsAreRefused) {
  SimulatedJob job;
  job.layout.tensor = 0;
  BatchCheck check;
  EXPECT_EQ(Simulate(job, check).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Simulate, WhatProgressSaysEndsTheRun) {
  SimulatedJob job = SmallJob({.data = 2});
  BatchCheck check;
  int64_t latest_ns = 0;
  const auto progress = [&](uint32_t steps, int64_t job_ns) {
    EXPECT_GT(job_ns, latest_ns);
    latest_ns = job_ns;
    return steps == 3 ? absl::CancelledError("enough") : absl::OkStatus();
  };
  EXPECT_EQ(Simulate(job, check, progress).status(), absl::CancelledError("enough"));
  EXPECT_EQ(check.finals, 0u);
}

}  // namespace
}  // namespace eroica::simulate
