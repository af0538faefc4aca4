#include "tests/evaluation/score/scenario_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHead[] = "family = \"gpu slow\"\nabout = \"One GPU is slow.\"\n";

std::string MessageOf(const std::string& text) {
  const absl::StatusOr<Scenario> scenario = ReadScenarioText(text, "a/b.toml");
  EXPECT_EQ(scenario.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(scenario.status().message());
}

TEST(ScenarioFile, ReadsEverySection) {
  const absl::StatusOr<Scenario> scenario = ReadScenarioText(std::string(kHead) + R"(
seeds = [3, "7-9"]
steps = 40
[layout]
data = 16
pipeline = 2
ranks_per_host = 4
[workload]
layer_forward_us = 1500.5
activation_mib = 8
[workload.jitter]
kernel = 0.02
[workload.checkpoint]
every = 20
duration_ms = 250
[fabric]
nic_gb_per_s = 12.5
[telemetry]
level = 1
sample_period_us = 0
[[fault]]
kind = "gpu_slow"
ranks = [3, "8-10"]
hosts = [1]
severity = 0.3
first_step = 5
[[fault]]
kind = "storage_slow"
ranks = "all"
[[expect]]
kinds = ["slow_rank", "contention"]
ranks = 3
functions = ["gemm"]
)",
                                                             "tests/gpu_slow_32r.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  EXPECT_EQ(scenario->name, "gpu_slow_32r");
  EXPECT_EQ(scenario->family, "gpu slow");
  EXPECT_THAT(scenario->seeds, ElementsAre(3, 7, 8, 9));
  const simulate::SimulatedJob& job = scenario->job;
  EXPECT_EQ(job.job, "gpu_slow_32r");
  EXPECT_EQ(job.seed, 3);
  EXPECT_EQ(job.steps, 40);
  EXPECT_EQ(job.layout.world_size(), 32);
  EXPECT_EQ(job.workload.layer_forward_ns, 1'500'500);
  EXPECT_EQ(job.workload.activation_bytes, 8u << 20);
  EXPECT_EQ(job.workload.jitter.kernel, 0.02);
  EXPECT_EQ(job.workload.jitter.host, simulate::Jitter().host);
  EXPECT_EQ(job.workload.checkpoint.duration_ns, 250'000'000);
  EXPECT_EQ(job.fabric.nic, 12.5);
  EXPECT_EQ(job.telemetry.level, CaptureLevel::kPatterns);
  EXPECT_EQ(job.telemetry.sample_period_ns, 0);
  ASSERT_EQ(job.faults.size(), 2);
  EXPECT_EQ(job.faults[0].kind, simulate::FaultKind::kGpuSlow);
  EXPECT_THAT(job.faults[0].ranks, ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(job.faults[0].severity, 0.3);
  EXPECT_EQ(job.faults[0].first_step, 5);
  EXPECT_EQ(job.faults[1].ranks.size(), 32);
  ASSERT_EQ(scenario->expected.size(), 1);
  EXPECT_THAT(scenario->expected[0].kinds,
              ElementsAre(FindingKind::kSlowRank, FindingKind::kContention));
  EXPECT_THAT(scenario->expected[0].ranks, ElementsAre(3));
  EXPECT_THAT(scenario->expected[0].functions, ElementsAre("gemm"));
}

TEST(ScenarioFile, ReadsHardwareNoiseAndShapes) {
  const absl::StatusOr<Scenario> scenario = ReadScenarioText(std::string(kHead) + R"(
[layout]
data = 4
[workload]
micro_batch_spread = 0.2
micro_batches_shared = true
[workload.loader_wait]
rate = 0.05
longest_ms = 20
[fabric]
slot_over_nic = 100
[hardware]
device_spread = 0.012
clock_on_memory = 0.0
[hardware.memory_bound]
elementwise = 0.95
[noise]
tail_degrees = 4
correlation = 0.5
[[fault]]
kind = "power_throttling"
ranks = 1
turn_share = 1
pulse_us = 250.0
)",
                                                             "x.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  const simulate::SimulatedJob& job = scenario->job;
  EXPECT_EQ(job.workload.micro_batch_spread, 0.2);
  EXPECT_TRUE(job.workload.micro_batches_shared);
  EXPECT_EQ(job.workload.loader_wait.rate, 0.05);
  EXPECT_EQ(job.workload.loader_wait.longest_ns, 20'000'000);
  EXPECT_EQ(job.fabric.slot_over_nic, 100);
  EXPECT_EQ(job.hardware.device_spread, 0.012);
  EXPECT_EQ(job.hardware.clock_on_memory, 0);
  EXPECT_EQ(job.hardware.memory_bound.elementwise, 0.95);
  EXPECT_EQ(job.hardware.memory_bound.matrix, simulate::MemoryBound().matrix);
  EXPECT_EQ(job.noise.tail_degrees, 4u);
  EXPECT_EQ(job.noise.correlation, 0.5);
  EXPECT_EQ(job.faults[0].shape.turn_share, 1);
  EXPECT_EQ(job.faults[0].shape.pulse_ns, 250'000);
  EXPECT_EQ(job.faults[0].shape.turn_steps, simulate::FaultShape().turn_steps);
}

TEST(ScenarioFile, ReadsAlternativesAndWhatIsOptional) {
  const std::string job = std::string(kHead) + "[layout]\ndata = 16\n";
  const absl::StatusOr<Scenario> scenario = ReadScenarioText(job + R"([[expect]]
kinds = ["communication"]
ranks = [3]
[[expect.or]]
kinds = ["communication"]
ranks = [11]
[[expect.or]]
kinds = ["communication"]
ranks = [3]
peer_rank = 11
[[expect]]
kinds = ["imbalance"]
subkinds = ["varying"]
optional = true
)",
                                                             "x.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  ASSERT_EQ(scenario->expected.size(), 2u);
  const std::vector<ExpectedFinding>& either = scenario->expected[0].alternatives;
  ASSERT_EQ(either.size(), 2u);
  EXPECT_THAT(either[0].ranks, ElementsAre(11));
  EXPECT_EQ(either[1].peer_rank, 11);
  EXPECT_FALSE(scenario->expected[0].optional);
  EXPECT_TRUE(scenario->expected[1].optional);
  EXPECT_THAT(scenario->expected[1].subkinds, ElementsAre("varying"));
  EXPECT_THAT(scenario->expected[1].alternatives, IsEmpty());
  const std::string expect = job + "[[expect]]\nkinds = [\"hang\"]\n";
  EXPECT_THAT(MessageOf(expect + "[[expect.or]]\nranks = [1]\n"),
              HasSubstr("a/b.toml:7: or.kinds is missing"));
  EXPECT_THAT(MessageOf(expect + "[[expect.or]]\nkinds = [\"hang\"]\nranks = [16]\n"),
              HasSubstr("a/b.toml:5: expect.ranks has 16"));
  EXPECT_THAT(MessageOf(expect + "[[expect.or]]\nkinds = [\"hang\"]\noptional = true\n"),
              HasSubstr("a/b.toml:9: unknown key 'optional'"));
  EXPECT_THAT(MessageOf(expect + "or = 3\n"), HasSubstr("a/b.toml:7: or must be tables"));
}

TEST(ScenarioFile, ReadsChangesOfSize) {
  const std::string head = std::string(kHead) + "[layout]\ndata = 4\n";
  const absl::StatusOr<Scenario> scenario =
      ReadScenarioText(head + "[[resize]]\nstep = 5\ndata = 8\npause_ms = 1.5\n", "x.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  ASSERT_EQ(scenario->job.resizes.size(), 1u);
  EXPECT_EQ(scenario->job.resizes[0].step, 5u);
  EXPECT_EQ(scenario->job.resizes[0].data, 8u);
  EXPECT_EQ(scenario->job.resizes[0].pause_ns, 1'500'000);
  const std::string late = head + "[[resize]]\nstep = 500\ndata = 8\n";
  EXPECT_THAT(std::string(ReadScenarioText(late, "x.toml").status().message()),
              HasSubstr("resizes[0].step is 500"));
}

TEST(ScenarioFile, ShortestFileIsAHealthyJobOfDefaults) {
  const absl::StatusOr<Scenario> scenario = ReadScenarioText(kHead, "x.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  EXPECT_THAT(scenario->seeds, ElementsAre(1));
  EXPECT_THAT(scenario->expected, IsEmpty());
  EXPECT_THAT(scenario->job.faults, IsEmpty());
  const absl::StatusOr<Scenario> four =
      ReadScenarioText(std::string(kHead) + "seeds = 4\n", "x.toml");
  ASSERT_TRUE(four.ok()) << four.status();
  EXPECT_THAT(four->seeds, ElementsAre(1, 2, 3, 4));
}

TEST(ScenarioFile, CollectsProblemsWithTheirLines) {
  const std::string message = MessageOf(R"(family = "x"
stepps = 3
[layout]
data = "eight"
[workload]
layer_forward_us = -1
[[fault]]
kind = "gpu_slw"
ranks = ["9-8"]
[[expect]]
kinds = ["slow_rnk"]
)");
  EXPECT_THAT(message, HasSubstr("a/b.toml:1: about is missing"));
  EXPECT_THAT(message, HasSubstr("a/b.toml:2: unknown key 'stepps'; did you mean 'steps'?"));
  EXPECT_THAT(message, HasSubstr("a/b.toml:4: layout.data must be an integer, such as 1"));
  EXPECT_THAT(message, HasSubstr("a/b.toml:6: workload.layer_forward_us is -1"));
  EXPECT_THAT(message,
              HasSubstr("a/b.toml:8: kind 'gpu_slw' is unknown; did you mean 'gpu_slow'?"));
  EXPECT_THAT(message, HasSubstr("a/b.toml:9: '9-8' is neither"));
  EXPECT_THAT(message,
              HasSubstr("a/b.toml:11: kinds 'slow_rnk' is unknown; did you mean 'slow_rank'?"));
}

TEST(ScenarioFile, AnImpossibleJobIsToldAtItsLine) {
  const std::string head = kHead;
  EXPECT_THAT(MessageOf(head + "[layout]\ndata = 4\nexpert = 3\n"),
              HasSubstr("a/b.toml:5: layout.expert is 3"));
  EXPECT_THAT(MessageOf(head + "[layout]\ndata = -4\n"),
              HasSubstr("a/b.toml:4: layout.data is -4"));
  EXPECT_THAT(MessageOf(head + "[[fault]]\nkind = \"gpu_slow\"\nranks = [77]\n"),
              HasSubstr("a/b.toml:3: faults[0].ranks has 77"));
  EXPECT_THAT(MessageOf(head + "[[fault]]\nkind = \"gpu_slow\"\nturn_share = 2\n"),
              HasSubstr("a/b.toml:3: faults[0].turn_share is 2"));
  EXPECT_THAT(MessageOf(head + "[hardware]\nlink_spread = 2\n"),
              HasSubstr("a/b.toml:4: hardware.link_spread is 2"));
  EXPECT_THAT(MessageOf(head + "[[fault]]\nkind = \"gpu_slow\"\nhosts = [5]\n"),
              HasSubstr("a/b.toml:3: fault.hosts has 5"));
  EXPECT_THAT(MessageOf(head + "[[fault]]\nranks = [0]\n"),
              HasSubstr("a/b.toml:3: fault.kind is missing"));
  EXPECT_THAT(MessageOf(head + "[[expect]]\nkinds = [\"hang\"]\nranks = [1]\n"),
              HasSubstr("a/b.toml:3: expect.ranks has 1"));
  EXPECT_THAT(MessageOf(head + "[fault]\nkind = \"gpu_slow\"\n"),
              HasSubstr("a/b.toml:3: fault must be tables"));
}

TEST(ScenarioFile, HostileFiles) {
  const std::string head = kHead;
  EXPECT_THAT(MessageOf("family = \"unclosed"), HasSubstr("a/b.toml:1: "));
  EXPECT_THAT(MessageOf(head + "seeds = [\"0-4294967295\"]\n"),
              HasSubstr("neither a number nor a range"));
  EXPECT_THAT(MessageOf(head + "seeds = []\n"), HasSubstr("seeds must not be empty"));
  EXPECT_THAT(MessageOf(head + "seeds = 0\n"), HasSubstr("'1-0'"));
  EXPECT_THAT(MessageOf(head + "[workload]\nlayer_forward_us = nan\n"),
              HasSubstr("a/b.toml:4: workload.layer_forward_us is nan"));
  EXPECT_THAT(MessageOf(head + "[workload]\nlayer_forward_us = 1e300\n"),
              HasSubstr("workload.layer_forward_us is 1e+300"));
  EXPECT_THAT(MessageOf(head + "[[expect]]\nkinds = [\"hang\"]\nfault = 0\n"),
              HasSubstr("a/b.toml:3: expect.fault is 0, but there are 0 faults"));
  EXPECT_THAT(MessageOf(head + "[[expect]]\nkinds = []\n"), HasSubstr("kinds must not be empty"));
  EXPECT_EQ(ReadScenario("no/such/file.toml").status().code(), absl::StatusCode::kNotFound);
}

TEST(ScenarioFile, ListsTheFilesOfAFolderAndOfThoseInItSorted) {
  const ScratchDirectory folder;
  for (const char* name : {"/b.toml", "/a.toml", "/notes.md"})
    WriteBytes(folder.path() + name, kHead);
  const absl::StatusOr<std::vector<std::string>> files = ListScenarioFiles(folder.path());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(folder.path() + "/a.toml", folder.path() + "/b.toml"));
  EXPECT_EQ(ListScenarioFiles(folder.path() + "/none").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ScenarioFile, EveryScenarioOfTheTreeCanBeRead) {
  const absl::StatusOr<std::vector<std::string>> files = ListScenarioFiles("tests/scenarios");
  ASSERT_TRUE(files.ok()) << files.status();
  for (const std::string& file : *files) {
    const absl::StatusOr<Scenario> scenario = ReadScenario(file);
    EXPECT_TRUE(scenario.ok()) << scenario.status();
  }
}

TEST(ScenarioFile, OfLengthsThatAreDrawnAnewItMayBeSaidThatWorkVaries) {
  const absl::StatusOr<Scenario> even = ReadScenarioText(kHead, "x.toml");
  ASSERT_TRUE(even.ok()) << even.status();
  EXPECT_THAT(even->expected, IsEmpty());
  const absl::StatusOr<Scenario> uneven =
      ReadScenarioText(std::string(kHead) + "[workload]\nlength_spread = 0.1\n", "x.toml");
  ASSERT_TRUE(uneven.ok()) << uneven.status();
  ASSERT_EQ(uneven->expected.size(), 1u);
  EXPECT_TRUE(uneven->expected[0].optional);
  EXPECT_THAT(uneven->expected[0].subkinds, ::testing::ElementsAre("varying"));
}

}  // namespace
}  // namespace eroica
