// Faults seen as a producer's events show them: what papers say of them must come out of the
// simulation by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "tests/evaluation/simulate/fault_library.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica::simulate {
namespace {

struct Seen {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string name;
};

// What one rank reported, on one clock.
struct RankSeen {
  std::vector<Seen> collectives;
  std::vector<Seen> kernels;
  std::vector<Seen> thread;
  std::vector<ResourceSample> samples;
  std::vector<Mark> marks;
};

class KeepingSink : public BatchSink {
 public:
  explicit KeepingSink(uint32_t ranks) : ranks_(ranks) {}

  absl::Status Write(const EventBatch& batch) override {
    RankSeen& rank = ranks_.at(batch.identity.rank.value);
    for (size_t i = 0; i < batch.intervals.size(); ++i) {
      const FunctionDef& function = batch.functions[batch.intervals.function[i]];
      const Seen seen = {batch.intervals.start_ns[i],
                         batch.intervals.start_ns[i] + batch.intervals.duration_ns[i],
                         function.name};
      if (function.function_class == FunctionClass::kCollective) rank.collectives.push_back(seen);
      if (function.function_class == FunctionClass::kGpuCompute) rank.kernels.push_back(seen);
      if (batch.lanes[batch.intervals.lane[i]].kind == LaneKind::kTrainingThread)
        rank.thread.push_back(seen);
    }
    rank.marks.insert(rank.marks.end(), batch.marks.begin(), batch.marks.end());
    rank.samples.insert(rank.samples.end(), batch.samples.begin(), batch.samples.end());
    return absl::OkStatus();
  }

  const RankSeen& rank(size_t rank) const { return ranks_[rank]; }
  size_t size() const { return ranks_.size(); }

 private:
  std::vector<RankSeen> ranks_;
};

class NoSink : public BatchSink {
  absl::Status Write(const EventBatch&) override { return absl::OkStatus(); }
};

// 4 hosts of 8 ranks, all in one data group.
SimulatedJob Job() {
  SimulatedJob job;
  job.layout = {.data = 32};
  job.telemetry.clock_offset_ns = 0;
  job.telemetry.clock_drift_ppm = 0;
  job.telemetry.sample_period_ns = 100'000;
  job.steps = 4;
  return job;
}

KeepingSink Simulated(const SimulatedJob& job) {
  KeepingSink sink(job.layout.world_size());
  const absl::StatusOr<SimulationReport> report = Simulate(job, sink);
  EXPECT_TRUE(report.ok()) << report.status();
  return sink;
}

double MeanStepNs(const SimulatedJob& job, bool* hangs = nullptr) {
  NoSink sink;
  const absl::StatusOr<SimulationReport> report = Simulate(job, sink);
  EXPECT_TRUE(report.ok()) << report.status();
  if (hangs != nullptr) *hangs = report->hangs;
  return std::accumulate(report->step_ns.begin(), report->step_ns.end(), 0.0) /
         static_cast<double>(std::max<size_t>(report->step_ns.size(), 1));
}

struct Usage {
  double mean = 0;
  double deviation = 0;
};

// Of all ranks, while the longest-lasting transfers move: from the last arrival to the first end,
// for the n-th collective of each rank.
std::vector<Usage> UsageIn(const KeepingSink& seen, Resource resource, size_t collective) {
  int64_t begin_ns = 0;
  int64_t end_ns = std::numeric_limits<int64_t>::max();
  for (size_t rank = 0; rank < seen.size(); ++rank) {
    begin_ns = std::max(begin_ns, seen.rank(rank).collectives[collective].start_ns);
    end_ns = std::min(end_ns, seen.rank(rank).collectives[collective].end_ns);
  }
  std::vector<Usage> usages(seen.size());
  for (size_t rank = 0; rank < seen.size(); ++rank) {
    std::vector<double> values;
    for (const ResourceSample& sample : seen.rank(rank).samples) {
      if (sample.resource == resource && sample.time_ns >= begin_ns + 200'000 &&
          sample.time_ns <= end_ns - 200'000)
        values.push_back(sample.value);
    }
    // What is over before the others is not part of it.
    while (!values.empty() && values.back() < 0.01) values.pop_back();
    if (values.size() < 8) continue;
    Usage& usage = usages[rank];
    const auto count = static_cast<double>(values.size());
    usage.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    for (const double value : values)
      usage.deviation += (value - usage.mean) * (value - usage.mean) / count;
    usage.deviation = std::sqrt(usage.deviation);
  }
  return usages;
}

// The first big one of the data group: gradients.
size_t FirstLongCollective(const KeepingSink& seen) {
  const std::vector<Seen>& collectives = seen.rank(0).collectives;
  const auto found = std::find_if(collectives.begin(), collectives.end(), [](const Seen& one) {
    return one.end_ns - one.start_ns > 2'000'000;
  });
  EXPECT_NE(found, collectives.end());
  return static_cast<size_t>(found - collectives.begin());
}

// EROICA (NSDI'26), section 6.1, in the samples of a whole job.
TEST(FaultSignature, OfASlowNicIsLowAndSteadyAtItAndSwingsOnItsRing) {
  SimulatedJob job = Job();
  constexpr uint32_t kCulprit = 13;
  job.faults = {{.kind = FaultKind::kNicSendSlow, .ranks = {kCulprit}, .severity = 0.5}};
  const KeepingSink seen = Simulated(job);
  const std::vector<Usage> nic = UsageIn(seen, Resource::kNic, FirstLongCollective(seen));
  for (uint32_t rank = 0; rank < nic.size(); ++rank) {
    if (rank == kCulprit) {
      EXPECT_NEAR(nic[rank].mean, 0.5, 0.05);
      EXPECT_LT(nic[rank].deviation, 0.1);
    } else if (rank % 8 == kCulprit % 8) {
      EXPECT_NEAR(nic[rank].mean, 0.5, 0.1) << rank;
      EXPECT_GT(nic[rank].deviation, 0.2) << rank;
    } else {
      EXPECT_GT(nic[rank].mean, 0.85) << rank;
      EXPECT_LT(nic[rank].deviation, 0.15) << rank;
    }
  }
}

// EROICA (NSDI'26), appendix A, problem 2.
TEST(FaultSignature, OfALostNvlinkIsTrafficOverPcie) {
  SimulatedJob job = Job();
  job.faults = {{.kind = FaultKind::kNvlinkDown, .ranks = {13}}};
  const KeepingSink seen = Simulated(job);
  const std::vector<Usage> pcie = UsageIn(seen, Resource::kPcieTx, FirstLongCollective(seen));
  for (uint32_t rank = 0; rank < pcie.size(); ++rank) {
    if (rank == 13) continue;
    EXPECT_LT(pcie[rank].mean, 0.7 * pcie[13].mean) << rank;
  }
}

// Holmes (NSDI'25) and Aegis (NSDI'25): who comes last has the shortest collective.
TEST(FaultSignature, OfASlowGpuIsTheShortestCollective) {
  SimulatedJob job = Job();
  job.faults = {{.kind = FaultKind::kGpuSlow, .ranks = {13}, .severity = 0.1}};
  const KeepingSink seen = Simulated(job);
  const size_t collective = FirstLongCollective(seen);
  const auto duration_ns = [&](uint32_t rank) {
    const Seen& one = seen.rank(rank).collectives[collective];
    return one.end_ns - one.start_ns;
  };
  for (uint32_t rank = 0; rank < seen.size(); ++rank) {
    if (rank == 13) continue;
    EXPECT_GT(duration_ns(rank), 1.1 * static_cast<double>(duration_ns(13))) << rank;
  }
}

TEST(FaultSignature, OfSlowStorageIsAReadOnTheTrainingThread) {
  SimulatedJob job = Job();
  job.faults = {{.kind = FaultKind::kStorageSlow, .ranks = {13}, .severity = 0.2}};
  const KeepingSink seen = Simulated(job);
  for (uint32_t rank = 0; rank < seen.size(); ++rank) {
    const auto reads = std::count_if(
        seen.rank(rank).thread.begin(), seen.rank(rank).thread.end(),
        [](const Seen& one) { return one.name.find("recv_into") != std::string::npos; });
    EXPECT_EQ(reads, rank / 8 == 1 ? 4 : 0) << rank;
  }
}

// Stages of a step are told by marks: what a fault adds must lie between the right ones.
TEST(FaultSignature, OfFunctionsLiesInTheStageThatTheySlowDown) {
  SimulatedJob job = Job();
  job.layout = {.data = 4, .pipeline = 2};
  job.faults = {{.kind = FaultKind::kPinMemory, .ranks = {1, 5}, .severity = 0.2},
                {.kind = FaultKind::kSlowFunction, .ranks = {1, 5}, .severity = 0.2}};
  const KeepingSink seen = Simulated(job);
  for (const uint32_t rank : {1u, 5u}) {
    const std::vector<Mark>& marks = seen.rank(rank).marks;
    const auto last_before = [&](int64_t time_ns) {
      MarkKind kind = MarkKind::kStepEnd;
      for (const Mark& mark : marks) {
        if (mark.time_ns <= time_ns) kind = mark.kind;
      }
      return kind;
    };
    int found = 0;
    for (const Seen& one : seen.rank(rank).thread) {
      const bool pins = one.name.find("method pin_memory") != std::string::npos;
      const bool records = one.name.find("record_activation_histogram") != std::string::npos;
      if (!pins && !records) continue;
      ++found;
      EXPECT_EQ(last_before(one.start_ns),
                pins ? MarkKind::kDataloaderNext : MarkKind::kForwardBegin)
          << rank;
      EXPECT_EQ(last_before(one.end_ns - 1),
                pins ? MarkKind::kDataloaderNext : MarkKind::kForwardBegin)
          << rank;
    }
    EXPECT_EQ(found, 8);
  }
}

// What a gross fault does to the steps of jobs in which it matters.
std::string NameOf(const testing::TestParamInfo<int>& one) {
  return std::string(ToString(static_cast<FaultKind>(one.param)));
}

class FaultEffectOnSteps : public testing::TestWithParam<int> {};

TEST_P(FaultEffectOnSteps, IsThere) {
  const auto kind = static_cast<FaultKind>(GetParam());
  SimulatedJob job;
  job.layout = {.tensor = 4, .data = 4, .pipeline = 2, .expert = 4};
  job.workload.expert_every = 1;
  job.workload.routing_spread = 0;
  job.workload.parameter_bytes = uint64_t{1} << 30;
  job.fabric.hosts_per_rack = 2;
  job.telemetry.level = CaptureLevel::kCollectives;
  job.steps = 30;
  const double healthy_ns = MeanStepNs(job);
  job.faults = {{.kind = kind, .ranks = {5}, .peer_rank = 12, .severity = 0.6}};
  if (Describe(kind).reach == FaultReach::kEveryone) job.faults[0].ranks.clear();
  bool hangs = false;
  const double longer = MeanStepNs(job, &hangs) / healthy_ns - 1;
  EXPECT_EQ(hangs, Describe(kind).family == "hang");
  if (hangs) return;
  if (kind == FaultKind::kTelemetryLoss) {
    EXPECT_EQ(longer, 0);
  } else {
    EXPECT_GT(longer, kind == FaultKind::kTransientSpike ? 0.002 : 0.01);
    EXPECT_LT(longer, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFault, FaultEffectOnSteps, testing::Range(0, kFaultKindCount),
                         NameOf);

}  // namespace
}  // namespace eroica::simulate
