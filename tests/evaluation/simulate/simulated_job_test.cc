#include "tests/evaluation/simulate/simulated_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

namespace eroica::simulate {
namespace {

using ::testing::HasSubstr;

// What Check says of a job of 16 ranks on two hosts after the change; empty where it says nothing.
std::string After(const std::function<void(SimulatedJob&)>& change) {
  SimulatedJob job;
  job.layout = {.tensor = 2, .data = 4, .pipeline = 2};
  change(job);
  return std::string(Check(job).message());
}

std::string WithFault(const Fault& fault) {
  return After([&fault](SimulatedJob& job) { job.faults.push_back(fault); });
}

TEST(SimulatedJob, AJobAsItComesIsPossible) {
  EXPECT_TRUE(Check(SimulatedJob{}).ok());
  EXPECT_EQ(After([](SimulatedJob&) {}), "");
}

TEST(SimulatedJob, SaysTheNumberAndItsRange) {
  EXPECT_EQ(After([](SimulatedJob& job) { job.workload.micro_batches = 0; }),
            "workload.micro_batches is 0; it must be between 1 and 4096");
  EXPECT_EQ(After([](SimulatedJob& job) { job.fabric.nic = 0; }),
            "fabric.nic is 0; it must be between 0.001 and 100000");
  EXPECT_EQ(After([](SimulatedJob& job) { job.telemetry.loss = 1.5; }),
            "telemetry.loss is 1.5; it must be between 0 and 1");
  EXPECT_EQ(After([](SimulatedJob& job) { job.steps = 0; }),
            "steps is 0; it must be between 1 and 10000000");
}

TEST(SimulatedJob, HardwareAndNoiseHaveTheirRanges) {
  EXPECT_EQ(After([](SimulatedJob& job) { job.hardware.device_spread = 0.5; }),
            "hardware.device_spread is 0.5; it must be between 0 and 0.3");
  EXPECT_EQ(After([](SimulatedJob& job) { job.hardware.memory_bound.matrix = 1.1; }),
            "hardware.memory_bound.matrix is 1.1; it must be between 0 and 1");
  EXPECT_EQ(After([](SimulatedJob& job) { job.noise.correlation = 1; }),
            "noise.correlation is 1; it must be between 0 and 0.95");
  EXPECT_EQ(After([](SimulatedJob& job) { job.noise.tail_degrees = 2; }),
            "noise.tail_degrees is 2; it must be between 3 and 100");
  EXPECT_EQ(After([](SimulatedJob& job) { job.noise.tail_degrees = 3; }), "");
  EXPECT_EQ(After([](SimulatedJob& job) { job.fabric.slot_over_nic = 0.5; }),
            "fabric.slot_over_nic is 0.5; it must be between 1 and 100");
  EXPECT_THAT(After([](SimulatedJob& job) { job.workload.loader_wait.longest_ns = 1; }),
              HasSubstr("workload.loader_wait.longest_ns is 1; it must be between 1000000"));
}

TEST(SimulatedJob, ShapesOfFaultsHaveTheirRanges) {
  EXPECT_EQ(WithFault({.ranks = {1}, .shape = {.turn_share = 0}}),
            "faults[0].turn_share is 0; it must be between 0.001 and 1");
  EXPECT_THAT(WithFault({.ranks = {1}, .shape = {.pause_lengths = 0}}),
              HasSubstr("faults[0].pause_lengths is 0"));
  EXPECT_THAT(WithFault({.ranks = {1}, .shape = {.period_steps = 1}}),
              HasSubstr("faults[0].period_steps is 1"));
  EXPECT_THAT(WithFault({.ranks = {1}, .shape = {.wait_spread = std::nan("")}}),
              HasSubstr("faults[0].wait_spread is nan"));
}

TEST(SimulatedJob, ChangesOfSizeComeInOrderAndAreLayouts) {
  const auto with = [](std::vector<Resize> resizes) {
    return After([&resizes](SimulatedJob& job) { job.resizes = std::move(resizes); });
  };
  EXPECT_EQ(with({{.step = 4, .data = 2}, {.step = 9, .data = 8}}), "");
  EXPECT_THAT(with({{.step = 0, .data = 2}}),
              HasSubstr("resizes[0].step is 0; it must be between 1 and 23"));
  EXPECT_THAT(with({{.step = 4, .data = 2}, {.step = 4, .data = 8}}),
              HasSubstr("resizes[1].step is 4; it must be between 5 and 23"));
  EXPECT_THAT(with({{.step = 4, .data = 0}}), HasSubstr("resizes[0] makes layout.data is 0"));
  EXPECT_THAT(with({{.step = 4, .data = 2, .pause_ns = -1}}), HasSubstr("resizes[0].pause_ns"));
  EXPECT_THAT(After([](SimulatedJob& job) {
                job.resizes = {{.step = 4, .data = 2}};
                job.faults = {{.ranks = {9}}};
              }),
              HasSubstr("faults[0].ranks has 9; the job's ranks are 0 to 7"));
}

TEST(SimulatedJob, RefusesEachKindOfNonsense) {
  EXPECT_THAT(After([](SimulatedJob& job) { job.job = ""; }), HasSubstr("job is empty"));
  EXPECT_THAT(After([](SimulatedJob& job) { job.layout.tensor = 0; }),
              HasSubstr("layout.tensor is 0"));
  EXPECT_THAT(After([](SimulatedJob& job) { job.workload.layer_forward_ns = -5; }),
              HasSubstr("layer_forward_ns is -5"));
  EXPECT_THAT(After([](SimulatedJob& job) { job.workload.embedding_layers = std::nan(""); }),
              HasSubstr("embedding_layers is nan"));
  EXPECT_THAT(After([](SimulatedJob& job) {
                job.workload.jitter.host = std::numeric_limits<double>::infinity();
              }),
              HasSubstr("jitter.host is inf"));
  EXPECT_THAT(
      After([](SimulatedJob& job) { job.workload.checkpoint = {.every = 3, .duration_ns = 0}; }),
      HasSubstr("workload.checkpoint.duration_ns is 0"));
  EXPECT_THAT(
      After([](SimulatedJob& job) { job.workload.evaluation = {.every = 1, .duration_ns = -1}; }),
      HasSubstr("workload.evaluation.duration_ns is -1"));
  EXPECT_THAT(After([](SimulatedJob& job) { job.telemetry.sample_period_ns = 1; }),
              HasSubstr("sample_period_ns is 1"));
  EXPECT_THAT(After([](SimulatedJob& job) { job.telemetry.window_steps = 0; }),
              HasSubstr("window_steps is 0"));
}

TEST(SimulatedJob, SamplesAndOccasionsMayBeOff) {
  EXPECT_EQ(After([](SimulatedJob& job) { job.telemetry.sample_period_ns = 0; }), "");
  EXPECT_EQ(
      After([](SimulatedJob& job) { job.workload.checkpoint = {.every = 0, .duration_ns = -1}; }),
      "");
}

TEST(SimulatedJob, TheModelMustFitThePipeline) {
  EXPECT_THAT(After([](SimulatedJob& job) { job.workload.layers = 1; }),
              HasSubstr("workload.layers is 1; it must be at least 2"));
  const auto interleave = [](uint32_t micro_batches) {
    return After([micro_batches](SimulatedJob& job) {
      job.layout.virtual_stages = 2;
      job.workload.micro_batches = micro_batches;
    });
  };
  EXPECT_EQ(interleave(4), "");
  EXPECT_THAT(interleave(5), HasSubstr("must be a multiple of layout.pipeline, 2"));
  EXPECT_THAT(After([](SimulatedJob& job) { job.layout.expert = 2; }),
              HasSubstr("workload.expert_every is 0"));
}

TEST(SimulatedJob, AStepMustBeOfASizeThatCanBeRun) {
  EXPECT_THAT(After([](SimulatedJob& job) {
                job.workload.layers = 4096;
                job.workload.micro_batches = 4096;
              }),
              HasSubstr("it may be at most 2000000"));
}

TEST(SimulatedJob, FaultsMustStrikeWhatIsThere) {
  EXPECT_EQ(WithFault({.ranks = {0, 15}}), "");
  EXPECT_EQ(WithFault({.ranks = {3, 16}}), "faults[0].ranks has 16; the job's ranks are 0 to 15");
  EXPECT_THAT(WithFault({.ranks = {1}, .peer_rank = 16}), HasSubstr("faults[0].peer_rank is 16"));
  EXPECT_THAT(WithFault({.ranks = {1}, .peer_rank = -2}), HasSubstr("faults[0].peer_rank is -2"));
  EXPECT_EQ(WithFault({.kind = FaultKind::kLinkSlow, .ranks = {1}, .peer_rank = 8}), "");
  EXPECT_THAT(WithFault({.kind = FaultKind::kLinkSlow, .ranks = {1}}),
              HasSubstr("needs ranks and a peer_rank"));
  EXPECT_THAT(WithFault({.kind = FaultKind::kLinkSlow, .ranks = {1}, .peer_rank = 7}),
              HasSubstr("both are on host 0"));
}

TEST(SimulatedJob, FaultsMustShow) {
  EXPECT_THAT(WithFault({.ranks = {1}, .severity = 0}),
              HasSubstr("faults[0].severity is 0; it must be above 0"));
  EXPECT_THAT(WithFault({.ranks = {1}, .severity = std::nan("")}),
              HasSubstr("faults[0].severity is nan"));
  EXPECT_THAT(WithFault({.ranks = {1}, .duty = 0}), HasSubstr("faults[0].duty is 0"));
  EXPECT_THAT(WithFault({.ranks = {1}, .duty = 1.1}), HasSubstr("faults[0].duty is 1.1"));
  EXPECT_THAT(WithFault({.ranks = {1}, .first_step = 24}),
              HasSubstr("faults[0].first_step is 24; the job's steps are 0 to 23"));
  EXPECT_THAT(WithFault({.ranks = {1}, .first_step = 5, .last_step = 4}),
              HasSubstr("faults[0].last_step is 4"));
}

TEST(SimulatedJob, CountsTheFaultsFromZero) {
  EXPECT_THAT(After([](SimulatedJob& job) {
                job.faults = {{.ranks = {1}}, {.ranks = {99}}};
              }),
              HasSubstr("faults[1].ranks has 99"));
}

}  // namespace
}  // namespace eroica::simulate
