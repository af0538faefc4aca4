#include "tests/evaluation/simulate/batch_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/evaluation/simulate/engine_harness.h"

namespace eroica::simulate {
namespace {

EngineHarness NoisyJob() {
  EngineHarness harness;
  harness.job.layout = {.tensor = 2, .data = 2, .pipeline = 2, .ranks_per_host = 2};
  harness.job.steps = 3;
  harness.job.workload.jitter = {.kernel = 0.1, .host = 0.3, .transfer = 0.1};
  harness.job.telemetry.clock_offset_ns = 10'000'000;
  harness.job.telemetry.clock_drift_ppm = 50;
  harness.job.telemetry.sample_period_ns = 100'000;
  for (const bool first : {true, false}) {
    HandmadeProgram writer(harness.catalog);
    writer.Mark(MarkKind::kStepBegin);
    for (uint32_t micro_batch = 0; micro_batch < 3; ++micro_batch) {
      const uint32_t ticket = 3 * micro_batch;
      writer.Enter("train > forward");
      if (!first) writer.Receive(-1, 1 << 20, ticket).Await(ticket);
      writer.Kernel("matmul", 1'000'000)
          .AllReduce(GroupKind::kTensor, 1 << 20, ticket + 1)
          .Await(ticket + 1)
          .Kernel("gelu", 100'000);
      if (first) writer.Send(1, 1 << 20, ticket + 2);
      writer.Leave();
    }
    writer.AllReduce(GroupKind::kData, 1 << 24, 9).Synchronize().Mark(MarkKind::kStepEnd);
    harness.programs.push_back(writer.program());
  }
  return harness;
}

TEST(BatchWriter, EqualSeedsGiveEqualBatchesAndOtherSeedsOthers) {
  EngineHarness harness = NoisyJob();
  const EngineRun run = harness.Run();
  EXPECT_EQ(run.batches.size(), 24u);
  EXPECT_EQ(run.batches, harness.Run().batches);
  harness.job.seed = 2;
  EXPECT_NE(run.batches, harness.Run().batches);
}

TEST(BatchWriter, TheOrderInWhichRanksRunChangesNothing) {
  EngineHarness harness = NoisyJob();
  const EngineRun run = harness.Run();
  for (uint64_t order = 1; order <= 10; ++order) {
    harness.shuffle = order;
    EXPECT_EQ(run.batches, harness.Run().batches);
  }
}

TEST(BatchWriter, BatchesOfARankHaveNoGapsAndOneEnd) {
  const EngineRun run = NoisyJob().Run();
  for (uint32_t rank = 0; rank < 8; ++rank) {
    const std::vector<const EventBatch*> batches = run.BatchesOf(rank);
    ASSERT_EQ(batches.size(), 3u);
    for (size_t i = 0; i < batches.size(); ++i) {
      EXPECT_EQ(batches[i]->sequence, i);
      EXPECT_EQ(batches[i]->final, i == 2);
      EXPECT_EQ(batches[i]->identity.host, "node000" + std::to_string(rank / 2));
      EXPECT_EQ(batches[i]->identity.device, static_cast<int32_t>(rank % 2));
      EXPECT_EQ(batches[i]->identity.window_steps, 4u);
      EXPECT_EQ(batches[i]->identity.role, "");
      ASSERT_EQ(batches[i]->marks.size(), 2u);
      EXPECT_EQ(batches[i]->marks[0].id, static_cast<int64_t>(i));
    }
  }
}

TEST(BatchWriter, MembersOfAGroupAgreeOnWhatWasWhich) {
  const EngineRun run = NoisyJob().Run();
  struct Seen {
    int members = 0;
    int64_t longest_ns = 0;
    int64_t shortest_ns = std::numeric_limits<int64_t>::max();
    uint64_t bytes = 0;
  };
  std::map<std::tuple<uint64_t, CollectiveOperation, uint64_t>, Seen> collectives;
  for (const EventBatch& batch : run.batches) {
    for (const Collective& row : batch.collectives) {
      if (IsPointToPoint(row.operation)) continue;
      Seen& seen = collectives[{batch.communicators[row.communicator].id.value, row.operation,
                                row.sequence}];
      ++seen.members;
      seen.bytes = row.bytes;
      seen.longest_ns = std::max(seen.longest_ns, batch.intervals.duration_ns[row.interval]);
      seen.shortest_ns = std::min(seen.shortest_ns, batch.intervals.duration_ns[row.interval]);
    }
  }
  EXPECT_EQ(collectives.size(), 4u * 9 + 4 * 3);
  for (const auto& [key, seen] : collectives) {
    EXPECT_EQ(seen.members, 2);
    EXPECT_GT(seen.longest_ns, seen.shortest_ns);  // somebody came first
  }
}

TEST(BatchWriter, ConnectionsAreThoseOfACommunicator) {
  EngineHarness harness = NoisyJob();
  harness.job.layout.ranks_per_host = 4;  // tensor and data groups share a host
  const EngineRun run = harness.Run();
  std::set<std::string> seen;
  for (const EventBatch& batch : run.batches) {
    for (const ConnectionSample& sample : batch.connections) {
      ASSERT_GT(sample.communicator, 0u);
      const Communicator& communicator = batch.communicators.at(sample.communicator - 1);
      seen.insert(communicator.description);
      const bool network = sample.resource == Resource::kNic;
      EXPECT_EQ(sample.channels, network ? 1u : harness.job.fabric.rings)
          << communicator.description;
      EXPECT_EQ(sample.bytes, network                                          ? 3u << 20
                              : communicator.description.starts_with("TENSOR") ? 3u << 20
                                                                               : 1u << 24);
    }
  }
  EXPECT_THAT(seen, ::testing::SizeIs(3)) << "tensor and data groups, and the pipeline";
}

TEST(BatchWriter, ClocksOfHostsAreOffAndThoseOfAHostAgree) {
  EngineHarness harness = NoisyJob();
  const EngineRun run = harness.Run();
  std::vector<int64_t> begins;
  for (uint32_t rank = 0; rank < 8; ++rank)
    begins.push_back(run.BatchesOf(rank)[0]->marks[0].time_ns - HostClock::kEpochNs);
  for (uint32_t host = 0; host < 4; ++host) {
    EXPECT_EQ(begins[2 * host], begins[2 * host + 1]);
    EXPECT_LE(std::abs(begins[2 * host]), 10'000'000);
    if (host > 0) {
      EXPECT_NE(begins[2 * host], begins[0]);
    }
  }
}

TEST(HostClock, NeverGoesBackwardsAndDriftsAsFarAsItMay) {
  const Telemetry telemetry{.clock_offset_ns = 5'000'000, .clock_drift_ppm = 20};
  constexpr int64_t kHour = int64_t{3'600} * 1'000'000'000;
  int64_t largest = 0;
  for (uint32_t host = 0; host < 1000; ++host) {
    const HostClock clock(telemetry, 7, host);
    const int64_t begin = clock.Show(0);
    EXPECT_LE(std::abs(begin - HostClock::kEpochNs), 5'000'000);
    const int64_t drift = clock.Show(kHour) - begin - kHour;
    EXPECT_LE(std::abs(drift), 72'000'001);
    largest = std::max(largest, std::abs(drift));
    for (int64_t t = 1; t < 200; ++t) EXPECT_GE(clock.Show(t), clock.Show(t - 1));
  }
  EXPECT_GT(largest, 70'000'000);
}

TEST(HostClock, DriftsOnForDays) {
  Telemetry telemetry;
  telemetry.clock_drift_ppm = 1'000;
  for (uint32_t host = 0; host < 16; ++host) {
    const HostClock clock(telemetry, 7, host);
    const auto drifted_ns = [&clock](int64_t hours) {
      const int64_t true_ns = hours * 3'600'000'000'000;
      return clock.Show(true_ns) - clock.Show(0) - true_ns;
    };
    EXPECT_NEAR(static_cast<double>(drifted_ns(240)), 240.0 * static_cast<double>(drifted_ns(1)),
                1'000.0);
  }
}

TEST(BatchWriter, LostBatchesSayWhatTheyHeld) {
  EngineHarness harness = NoisyJob();
  const EngineRun whole = harness.Run();
  harness.job.steps = 3;
  harness.effects.script = [](uint32_t rank, uint32_t, StepEffects& effects) {
    effects.telemetry_loss = rank == 5 ? kUnit : 0;
  };
  const EngineRun run = harness.Run();
  const std::vector<const EventBatch*> lost = run.BatchesOf(5);
  ASSERT_EQ(lost.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const EventBatch& was = *whole.BatchesOf(5)[i];
    EXPECT_EQ(lost[i]->intervals.size(), 0u);
    EXPECT_TRUE(lost[i]->collectives.empty());
    EXPECT_EQ(lost[i]->sequence, i);
    EXPECT_EQ(lost[i]->final, i == 2);
    std::map<EventKind, uint64_t> counts;
    for (const LossEntry& loss : lost[i]->losses) counts[loss.kind] += loss.count;
    EXPECT_EQ(counts[EventKind::kInterval], was.intervals.size());
    EXPECT_EQ(counts[EventKind::kCollective], was.collectives.size());
    EXPECT_EQ(counts[EventKind::kSample], was.samples.size());
    EXPECT_EQ(counts[EventKind::kMark], was.marks.size());
  }
  EXPECT_EQ(run.report.events + run.report.lost, whole.report.events);
  EXPECT_GT(run.report.lost, 0u);
  harness.effects.script = nullptr;
  harness.job.telemetry.loss = 0.5;
  const EngineRun half = harness.Run();
  const auto losses = std::count_if(half.batches.begin(), half.batches.end(),
                                    [](const EventBatch& batch) { return !batch.losses.empty(); });
  EXPECT_GT(losses, 4);
  EXPECT_LT(losses, 20);
}

TEST(BatchWriter, LongStepsAreSplit) {
  EngineHarness harness;
  harness.job.telemetry.sample_period_ns = 10'000;
  harness.job.steps = 2;
  HandmadeProgram writer(harness.catalog);
  writer.Mark(MarkKind::kStepBegin);
  for (int i = 0; i < 20'000; ++i) writer.Kernel("k", 5'000);
  writer.Synchronize().Host("idle", 300'000'000).Mark(MarkKind::kStepEnd);
  harness.programs = {writer.program()};
  const EngineRun run = harness.Run();
  size_t intervals = 0;
  size_t samples = 0;
  size_t marks = 0;
  int64_t latest = 0;
  for (const EventBatch& batch : run.batches) {
    intervals += batch.intervals.size();
    samples += batch.samples.size();
    marks += batch.marks.size();
    EXPECT_LE(batch.intervals.size(), BatchWriter::kMaxIntervals);
    EXPECT_LE(batch.samples.size(), BatchWriter::kMaxSamples + 2);
    // By time from batch to batch, too.
    for (const ResourceSample& sample : batch.samples) EXPECT_GE(sample.time_ns, latest);
    for (const int64_t start_ns : batch.intervals.start_ns) EXPECT_GE(start_ns, latest);
    if (!batch.intervals.start_ns.empty()) latest = batch.intervals.start_ns.back();
    if (!batch.samples.empty()) latest = std::max(latest, batch.samples.back().time_ns);
  }
  EXPECT_EQ(intervals, 2u * 20'002);
  EXPECT_EQ(marks, 4u);
  EXPECT_GE(samples, 2u * 3 * 40'000);
  EXPECT_TRUE(run.batches.back().final);
  EXPECT_EQ(std::count_if(run.batches.begin(), run.batches.end(),
                          [](const EventBatch& batch) { return batch.final; }),
            1);
}

TEST(BatchWriter, RolesAndLargeGroups) {
  EngineHarness harness;
  harness.job.layout.data = 100;
  harness.job.steps = 18;
  harness.job.telemetry.roles = true;
  harness.programs = {harness.DataParallelStep()};
  const EngineRun run = harness.Run();
  const std::vector<const EventBatch*> batches = run.BatchesOf(42);
  ASSERT_EQ(batches.size(), 18u);
  for (size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i]->identity.role, "stage0");
    ASSERT_EQ(batches[i]->communicators.size(), 1u);
    EXPECT_EQ(batches[i]->communicators[0].size, 100u);
    EXPECT_EQ(batches[i]->communicators[0].ranks.size(), i % 16 == 0 ? 100u : 0u);
  }
}

}  // namespace
}  // namespace eroica::simulate
