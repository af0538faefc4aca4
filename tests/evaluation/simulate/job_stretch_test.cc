#include "tests/evaluation/simulate/job_stretch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "producers/core/batch_sink.h"
#include "schemas/invariants.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica::simulate {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kPauseNs = 30'000'000'000;

// 16 ranks in two stages shrink to 8 after three steps, and grow to 24 after seven.
SimulatedJob ElasticJob() {
  SimulatedJob job;
  job.layout = {.tensor = 2, .data = 4, .pipeline = 2};
  job.workload.layer_forward_ns = 500'000;
  job.telemetry.clock_offset_ns = 0;
  job.telemetry.clock_drift_ppm = 0;
  job.steps = 10;
  job.resizes = {{.step = 3, .data = 2, .pause_ns = kPauseNs},
                 {.step = 7, .data = 6, .pause_ns = kPauseNs}};
  return job;
}

struct SeenStretch : BatchSink {
  struct Process {
    uint32_t world_size = 0;
    std::set<int64_t> steps;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    uint64_t batches = 0;
    bool final = false;
    std::set<uint64_t> communicators;
    std::set<std::string> hosts;
  };
  absl::Status Write(const EventBatch& batch) override {
    EXPECT_EQ(CheckInvariants(batch), DropReason::kNone);
    Process& process = processes[{batch.identity.rank.value, batch.identity.pid}];
    EXPECT_EQ(batch.sequence, process.batches++) << "from 0 in each process";
    EXPECT_FALSE(process.final);
    process.final = batch.final;
    process.world_size = batch.identity.world_size;
    process.hosts.insert(batch.identity.host);
    for (const Mark& mark : batch.marks) {
      if (process.first_ns == 0) process.first_ns = mark.time_ns;
      process.last_ns = mark.time_ns;
      if (mark.kind == MarkKind::kStepBegin) process.steps.insert(mark.id);
    }
    for (const ResourceSample& sample : batch.samples)
      EXPECT_GT(sample.time_ns, process.first_ns - 2'000'000) << "nothing of the time before";
    for (const Communicator& communicator : batch.communicators)
      process.communicators.insert(communicator.id.value);
    return absl::OkStatus();
  }
  // By rank and process number.
  std::map<std::pair<uint32_t, uint32_t>, Process> processes;
};

TEST(JobStretch, AJobThatKeepsItsSizeIsOne) {
  const SimulatedJob job;
  const std::vector<JobStretch> stretches = StretchesOf(job);
  ASSERT_EQ(stretches.size(), 1u);
  EXPECT_EQ(stretches[0].first_step, 0u);
  EXPECT_EQ(stretches[0].end_step, job.steps);
  EXPECT_EQ(stretches[0].leaves_from, 0u) << "all end with the job";
}

TEST(JobStretch, EachChangeBeginsANewOne) {
  const std::vector<JobStretch> stretches = StretchesOf(ElasticJob());
  ASSERT_EQ(stretches.size(), 3u);
  EXPECT_EQ(stretches[1].first_step, 3u);
  EXPECT_EQ(stretches[1].end_step, 7u);
  EXPECT_EQ(stretches[1].layout.world_size(), 8u);
  EXPECT_EQ(stretches[0].leaves_from, 8u);
  EXPECT_EQ(stretches[1].leaves_from, 24u) << "nobody leaves where the job grows";
}

TEST(ElasticJob, ProcessesEndAndOthersGoOnWithTheSteps) {
  SeenStretch seen;
  const absl::StatusOr<SimulationReport> report = Simulate(ElasticJob(), seen);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->steps, 10u);
  EXPECT_EQ(report->step_ns.size(), 10u);
  for (const int64_t step_ns : report->step_ns)
    EXPECT_LT(step_ns, kPauseNs) << "the pause belongs to no step";
  EXPECT_EQ(seen.processes.size(), 16u + 8u + 24u);
  const auto of_rank_0 = [&seen](uint32_t process) {
    return seen.processes.at({0, 4000 + 100 * process});
  };
  EXPECT_THAT(of_rank_0(0).steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(of_rank_0(1).steps, ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(of_rank_0(2).steps, ElementsAre(7, 8, 9));
  EXPECT_EQ(of_rank_0(1).world_size, 8u);
  EXPECT_GE(of_rank_0(1).first_ns - of_rank_0(0).last_ns, kPauseNs);
  EXPECT_GE(report->job_ns, 2 * kPauseNs);
}

TEST(ElasticJob, OnlyThoseWhoLeaveForGoodSaySo) {
  SeenStretch seen;
  ASSERT_TRUE(Simulate(ElasticJob(), seen).ok());
  for (const auto& [key, process] : seen.processes) {
    const auto [rank, pid] = key;
    const uint32_t number = (pid - 4000) / 100;
    EXPECT_EQ(process.final, number == 2 || (number == 0 && rank >= 8))
        << "rank " << rank << ", process " << number;
    EXPECT_EQ(process.hosts.size(), 1u);
  }
}

TEST(ElasticJob, NewProcessesMakeNewCommunicators) {
  SeenStretch seen;
  ASSERT_TRUE(Simulate(ElasticJob(), seen).ok());
  // Ranks 0 and 1 are a tensor group all the time, and yet no communicator of one process is known
  // to another.
  std::set<uint64_t> all;
  size_t sum = 0;
  for (uint32_t number = 0; number < 3; ++number) {
    const auto& communicators = seen.processes.at({0, 4000 + 100 * number}).communicators;
    EXPECT_GE(communicators.size(), 3u);
    sum += communicators.size();
    all.insert(communicators.begin(), communicators.end());
  }
  EXPECT_EQ(all.size(), sum);
}

TEST(ElasticJob, EachProcessWarmsUp) {
  SimulatedJob job = ElasticJob();
  job.workload.warmup_steps = 2;
  SeenStretch seen;
  const absl::StatusOr<SimulationReport> report = Simulate(job, seen);
  ASSERT_TRUE(report.ok());
  const std::vector<int64_t>& step_ns = report->step_ns;
  EXPECT_GT(step_ns[0], step_ns[2] * 3 / 2);
  EXPECT_GT(step_ns[3], step_ns[5] * 3 / 2);
  EXPECT_GT(step_ns[7], step_ns[9] * 3 / 2);
}

}  // namespace
}  // namespace eroica::simulate
