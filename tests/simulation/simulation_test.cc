// Seeds of simulated clusters against the naive model: the same input in order, on one node,
// without a fault. EROICA_SIMULATION_SEED=N runs one seed alone and prints its faults,
// EROICA_SIMULATION_SEEDS=A-B any range (ops/soak.sh).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <set>
#include <string>

#include "stream_ops/runtime/stream_task.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/simulation/simulated_cluster.h"
#include "tests/support/eroica_topology.h"
#include "tests/support/job_builder.h"
#include "tests/support/pipeline.h"

namespace eroica::testing {
namespace {

constexpr uint64_t kSeeds = 1'000;
constexpr uint64_t kShards = 8;

// The last of them is killed and started again under its name.
std::vector<EventBatch> Jobs() {
  std::vector<EventBatch> batches;
  const auto add = [&batches](JobOptions options) {
    options.ranks = 3;
    options.steps = 16;
    options.window_steps = 4;
    const std::vector<EventBatch> one = BuildJob(options);
    batches.insert(batches.end(), one.begin(), one.end());
  };
  const JobFault slow = JobFault::kSlowPython;
  add({.job = "job 0", .seed = 0});
  add({.job = "job 1", .fault = slow, .seed = 1});
  add({.job = "job 2", .fault = slow, .seed = 2, .killed = true});
  add({.job = "job 2", .fault = slow, .culprit = 0, .seed = 3, .run = 1, .same_pids = true});
  return batches;
}

struct Model {
  std::vector<EventBatch> batches = Jobs();
  PipelineOutput output = *RunPipeline(batches, EroicaTopology(), {});
};

const Model& TheModel() {
  static const Model model;
  return model;
}

// What a seed's run leaves on the topics, and how its books stand.
struct Outcome {
  PipelineOutput output;
  std::vector<std::string> garbage;       // values that are no batches
  std::vector<std::string> dead_letters;  // values, with repetitions
  size_t repeated_patterns = 0;
  bool settled = false;
  std::string books;  // what does not add up
  uint64_t unloads = 0;
  std::vector<std::string> events;
};

void AppendGarbage(MemoryLog& log, std::vector<std::string>* garbage) {
  garbage->push_back(fmt::format("no batch {:06}", garbage->size()));
  AppendAll(log, {{.topic = TopicName(kDefaultTopicPrefix, Topic::kEvents),
                   .key = "garbage",
                   .value = garbage->back(),
                   .headers = {}}});
}

size_t RepeatedPatterns(MemoryLog& log) {
  std::set<std::string> seen;
  size_t repeated = 0;
  for (const ConsumerRecord& record :
       ReadTopic(log, TopicName(kDefaultTopicPrefix, Topic::kPatterns)))
    repeated += seen.insert(record.key + '\n' + record.value).second ? 0 : 1;
  return repeated;
}

void ReadOutcome(MemoryLog& log, Outcome* outcome) {
  outcome->output = ReadOutput(log, kDefaultTopicPrefix);
  outcome->dead_letters = SortedValues(log, TopicName(kDefaultTopicPrefix, Topic::kDeadLetter));
  outcome->repeated_patterns = RepeatedPatterns(log);
}

// With room for all: no window is closed for want of it.
StagePools Pools() {
  const auto pool = [] { return std::make_shared<MemoryPool>(uint64_t{1} << 40); };
  return {.summarize = pool(), .align = pool(), .diagnose = pool()};
}

Outcome RunSeed(uint64_t seed) {
  std::mt19937_64 random(seed);
  MemoryLog log;
  TopicLayout layout;
  const bool short_of_memory = seed % 3 == 0;
  // Where threads have many, some are ahead.
  layout.partitions.fill((short_of_memory ? 10 : 1) + static_cast<int32_t>(random() % 3));
  absl::Status made = CreateMissingTopics(log.admin(), kDefaultTopicPrefix, layout);
  made.Update(CreateMissing(log.admin(), ChangelogSpecs(kDefaultTopicPrefix, layout)));
  EXPECT_TRUE(made.ok()) << made;
  SimulatedCluster cluster(log, EroicaTopology({}, Pools()), seed % 2 == 1, short_of_memory,
                           random());
  PipelineWay way;
  way.disorder = random() % 2 == 0;
  way.seed = seed;
  const std::vector<const EventBatch*> order = Arrange(TheModel().batches, way);
  Outcome outcome;
  for (size_t next = 0; next < order.size();) {
    const size_t count = std::min<size_t>(random() % 4, order.size() - next);
    const auto first = order.begin() + static_cast<ptrdiff_t>(next);
    EXPECT_TRUE(
        AppendBatches(log, kDefaultTopicPrefix, {first, first + static_cast<ptrdiff_t>(count)})
            .ok());
    next += count;
    if (random() % 40 == 0) AppendGarbage(log, &outcome.garbage);
    for (uint64_t steps = random() % 12; steps > 0; --steps) cluster.Step();
  }
  for (uint64_t steps = random() % 200; steps > 0; --steps) cluster.Step();
  outcome.settled = cluster.Settle();
  outcome.books = cluster.CloseBooks();
  outcome.unloads = cluster.Unloads();
  ReadOutcome(log, &outcome);
  outcome.events = cluster.events();
  return outcome;
}

std::string DifferenceOfDeadLetters(const Outcome& outcome, bool exactly_once) {
  const std::set<std::string> letters(outcome.dead_letters.begin(), outcome.dead_letters.end());
  if (letters != std::set<std::string>(outcome.garbage.begin(), outcome.garbage.end()))
    return "other dead letters";
  if (exactly_once && letters.size() != outcome.dead_letters.size()) return "a dead letter twice";
  return "";
}

// Empty: the same. Both sorted.
std::string Compare(const std::string& what, const std::vector<std::string>& expected,
                    const std::vector<std::string>& actual) {
  std::vector<std::string> missing;
  std::vector<std::string> other;
  std::ranges::set_difference(expected, actual, std::back_inserter(missing));
  std::ranges::set_difference(actual, expected, std::back_inserter(other));
  if (missing.empty() && other.empty()) return "";
  const std::string& first = missing.empty() ? other.front() : missing.front();
  return fmt::format("of {} {} are missing and {} are not the model's, the first: {}", what,
                     missing.size(), other.size(), first);
}

// Empty: as the model says.
std::string Difference(uint64_t seed, const Outcome& outcome) {
  const PipelineOutput& expected = TheModel().output;
  const PipelineOutput& actual = outcome.output;
  if (!outcome.settled) return "the stages do not come to the end of their input";
  if (!outcome.books.empty()) return "the books do not add up: " + outcome.books;
  std::string difference = Compare("patterns", expected.patterns, actual.patterns);
  if (difference.empty()) difference = Compare("findings", expected.findings, actual.findings);
  if (!difference.empty()) return difference;
  const bool exactly_once = seed % 2 == 1;
  if (exactly_once && outcome.repeated_patterns > 0) return "a pattern twice";
  if (exactly_once && !actual.repeated_findings.empty()) return "a finding twice";
  return DifferenceOfDeadLetters(outcome, exactly_once);
}

// Returns how often a task let go of what it held.
uint64_t CheckSeed(uint64_t seed, bool verbose) {
  const Outcome outcome = RunSeed(seed);
  if (verbose) {
    for (const std::string& event : outcome.events) std::cerr << event << "\n";
  }
  const std::string difference = Difference(seed, outcome);
  EXPECT_EQ(difference, "") << "seed " << seed << " failed: run it alone with "
                            << "EROICA_SIMULATION_SEED=" << seed << " simulation_test";
  return outcome.unloads;
}

class Simulation : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Simulation, FindsWhatTheModelFinds) {
  const char* alone = std::getenv("EROICA_SIMULATION_SEED");
  const char* range = std::getenv("EROICA_SIMULATION_SEEDS");
  uint64_t first = 0;
  uint64_t last = kSeeds - 1;
  if (alone != nullptr) first = last = std::strtoull(alone, nullptr, 10);
  if (alone == nullptr && range != nullptr) {
    char* end = nullptr;
    first = std::strtoull(range, &end, 10);
    last = *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first;
  }
  uint64_t unloads = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    if (seed % kShards == GetParam()) unloads += CheckSeed(seed, alone != nullptr);
    if (HasFailure()) return;  // the others say no more
  }
  std::cerr << "tasks let go of their windows " << unloads << " times\n";
  if (alone == nullptr && range == nullptr) {
    EXPECT_GT(unloads, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Simulation, ::testing::Range(uint64_t{0}, kShards));

}  // namespace
}  // namespace eroica::testing
