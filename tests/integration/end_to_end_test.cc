// Real jobs from batches to findings, through a recording on disk and through a real Kafka: byte
// for byte what the run in memory says. Then the same with a broker that dies in the middle, and
// with stages that die at any point. The recordings of tests/golden/live are in every clone; traces
// are looked at where they lie beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

#include "state_store/in_memory_store.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/stage_threads.h"
#include "stream_ops/runtime/topic_layout.h"
#include "tests/evaluation/real/recording_sources.h"
#include "tests/integration/test_broker.h"
#include "tests/support/eroica_topology.h"
#include "tests/support/pipeline.h"
#include "tests/support/trace_jobs.h"

namespace eroica::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kDeadline{150};

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "eroica-e2e-XXXXXX") {
    EROICA_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<RocksDbStore> OpenStore(const std::string& folder) {
  absl::StatusOr<std::unique_ptr<RocksDbStore>> store = RocksDbStore::Open({.folder = folder});
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::unique_ptr<KafkaLog> OpenKafka(const std::string& bootstrap) {
  absl::StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open({.bootstrap_servers = bootstrap});
  EXPECT_TRUE(log.ok()) << log.status();
  return log.ok() ? *std::move(log) : nullptr;
}

std::vector<const EventBatch*> InOrder(const std::vector<EventBatch>& batches) {
  return Arrange(batches, {});
}

void CreateTopics(Log& log, const std::string& prefix, int32_t partitions) {
  TopicLayout layout;
  layout.partitions.fill(partitions);
  // A broker that has just started, on a busy machine, may take longer to lead than is waited for.
  absl::Status status;
  for (int tries = 0; tries < 5; ++tries) {
    status = CreateMissingTopics(log.admin(), prefix, layout);
    status.Update(CreateMissing(log.admin(), ChangelogSpecs(prefix, layout)));
    if (!absl::IsUnavailable(status)) break;
  }
  ASSERT_TRUE(status.ok()) << status;
}

StageThreadsOptions NodeOptions(const std::string& prefix) {
  StageThreadsOptions options;
  options.thread.task.topic_prefix = prefix;
  options.thread.poll_timeout = milliseconds(20);
  options.thread.commit_interval = milliseconds(100);
  options.thread.changelog = true;
  // Jobs that are all there end by themselves. The one of which most ranks are missing ends by
  // silence: longer than any hiccup of a busy machine.
  options.thread.idle_timeout = milliseconds(8'000);
  options.group_prefix = prefix;
  return options;
}

void ExpectSame(const PipelineOutput& expected, const PipelineOutput& actual) {
  EXPECT_EQ(expected.findings, actual.findings);
  EXPECT_EQ(expected.patterns.size(), actual.patterns.size());
  EXPECT_TRUE(expected.patterns == actual.patterns)
      << "PatternBatches or CollectiveSummaries differ";
  EXPECT_EQ(expected.dead_letters, actual.dead_letters);
}

// Until the topics say what is expected; then, or at the deadline, what they say.
PipelineOutput WaitForOutput(Log& log, const std::string& prefix, const PipelineOutput& expected) {
  const auto deadline = steady_clock::now() + kDeadline;
  PipelineOutput output;
  do {
    output = ReadOutput(log, prefix);
  } while (output != expected && steady_clock::now() < deadline);
  return output;
}

// Until the stage has processed so many records.
bool WaitForRecords(const StageThreads& node, std::string_view stage, uint64_t records) {
  const auto deadline = steady_clock::now() + kDeadline;
  while (node.Probes().at(std::string(stage)).records_processed < records) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

PipelineOutput InMemory(const std::vector<EventBatch>& batches) {
  absl::StatusOr<PipelineOutput> output = RunPipeline(batches, EroicaTopology(), {});
  EXPECT_TRUE(output.ok()) << output.status();
  return output.ok() ? *std::move(output) : PipelineOutput();
}

struct RealCase {
  std::string name;
  std::optional<TraceJob> trace;  // else the recording of that name
};

void PrintTo(const RealCase& job, std::ostream* out) { *out << job.name; }

absl::StatusOr<std::vector<EventBatch>> BatchesOf(const RealCase& job) {
  return job.trace ? ImportJob(*job.trace) : ReadRecordedBatches("tests/golden/live/" + job.name);
}

std::vector<RealCase> Recordings() { return {{.name = "healthy"}, {.name = "compute"}}; }

std::vector<RealCase> Traces() {
  std::vector<RealCase> cases;
  for (const TraceJob& job : TraceJobs()) cases.push_back({.name = job.name, .trace = job});
  return cases;
}

class EndToEnd : public ::testing::TestWithParam<RealCase> {
 protected:
  void SetUp() override {
    if (GetParam().trace && !HaveTraces())
      GTEST_SKIP() << "the folder of real traces is absent: " << kTraceRoot;
    absl::StatusOr<std::vector<EventBatch>> batches = BatchesOf(GetParam());
    ASSERT_TRUE(batches.ok()) << batches.status();
    batches_ = *std::move(batches);
    expected_ = InMemory(batches_);
    ASSERT_FALSE(expected_.patterns.empty());
  }

  std::vector<EventBatch> batches_;
  PipelineOutput expected_;
  TemporaryFolder folder_;
};

TEST_P(EndToEnd, ARecordingSaysTheSame) {
  absl::StatusOr<std::unique_ptr<RecordingLog>> log =
      RecordingLog::Open({.directory = folder_.path() + "/recording"});
  ASSERT_TRUE(log.ok()) << log.status();
  CreateTopics(**log, "eroica", 3);
  ASSERT_TRUE(AppendBatches(**log, "eroica", InOrder(batches_)).ok());
  const std::unique_ptr<RocksDbStore> store = OpenStore(folder_.path() + "/store");
  const Topology topology = EroicaTopology();
  const absl::Status status = BoundedRun(**log, *store, topology, {}).Run();
  ASSERT_TRUE(status.ok()) << status;
  ExpectSame(expected_, ReadOutput(**log, "eroica"));
}

TEST_P(EndToEnd, KafkaSaysTheSame) {
  const std::optional<std::string> broker = SharedBroker();
  if (!broker) GTEST_SKIP() << kNoBrokerMessage;
  const std::string prefix = UniqueName("e2e");
  const std::unique_ptr<KafkaLog> log = OpenKafka(*broker);
  CreateTopics(*log, prefix, 3);
  const std::unique_ptr<RocksDbStore> store = OpenStore(folder_.path() + "/store");
  StageThreads node(*log, *store, EroicaTopology(), {}, NodeOptions(prefix));
  ASSERT_TRUE(node.Start().ok());
  const absl::Status sent = AppendBatches(*log, prefix, InOrder(batches_));
  ASSERT_TRUE(sent.ok()) << sent;
  const PipelineOutput output = WaitForOutput(*log, prefix, expected_);
  // Where nothing is to be said, silence is right only once everything was looked at.
  EXPECT_TRUE(WaitForRecords(node, kDiagnoseStage, expected_.patterns.size()));
  const absl::Status stopped = node.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  ExpectSame(expected_, output);
  ExpectSame(expected_, ReadOutput(*log, prefix));
}

INSTANTIATE_TEST_SUITE_P(Recordings, EndToEnd, ::testing::ValuesIn(Recordings()),
                         [](const auto& job) { return job.param.name; });
INSTANTIATE_TEST_SUITE_P(Traces, EndToEnd, ::testing::ValuesIn(Traces()),
                         [](const auto& job) { return job.param.name; });

class EndToEndFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::vector<EventBatch>> batches = BatchesOf({.name = "compute"});
    ASSERT_TRUE(batches.ok()) << batches.status();
    batches_ = *std::move(batches);
    expected_ = InMemory(batches_);
    ASSERT_FALSE(expected_.findings.empty());
  }

  std::vector<EventBatch> batches_;
  PipelineOutput expected_;
  TemporaryFolder folder_;
};

TEST_F(EndToEndFaults, ABrokerThatDiesInTheMiddleChangesNothing) {
  if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
  OwnBroker broker;
  ASSERT_FALSE(broker.address().empty());
  const std::unique_ptr<KafkaLog> log = OpenKafka(broker.address());
  CreateTopics(*log, "dying", 3);
  const std::vector<const EventBatch*> order = InOrder(batches_);
  const auto half = static_cast<std::ptrdiff_t>(order.size() / 2);
  const std::unique_ptr<RocksDbStore> store = OpenStore(folder_.path() + "/store");
  StageThreadsOptions options = NodeOptions("dying");
  options.thread.idle_timeout = std::nullopt;
  options.thread.poll_records_max = 1;
  StageThreads node(*log, *store, EroicaTopology(), {}, options);
  ASSERT_TRUE(node.Start().ok());
  ASSERT_TRUE(AppendBatches(*log, "dying", {order.begin(), order.begin() + half}).ok());
  ASSERT_TRUE(WaitForRecords(node, kSummarizeStage, 1));
  broker.Kill();
  ASSERT_TRUE(broker.Restart());
  const absl::Status sent = AppendBatches(*log, "dying", {order.begin() + half, order.end()});
  ASSERT_TRUE(sent.ok()) << sent;
  const PipelineOutput output = WaitForOutput(*log, "dying", expected_);
  const absl::Status stopped = node.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  ExpectSame(expected_, output);
}

// A stage_node process.
class NodeProcess {
 public:
  NodeProcess(const std::string& broker, const std::string& prefix, const std::string& store,
              uint64_t die_at_append, uint64_t die_at_write) {
    std::vector<std::string> arguments = {
        EROICA_STAGE_NODE,           broker, prefix, store, std::to_string(die_at_append),
        std::to_string(die_at_write)};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    // Born with SIGTERM blocked, so that it is heard whenever it comes.
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    posix_spawnattr_t attributes;
    EROICA_CHECK(::posix_spawnattr_init(&attributes) == 0);
    ::posix_spawnattr_setsigmask(&attributes, &blocked);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    EROICA_CHECK(::posix_spawn(&pid_, argv[0], nullptr, &attributes, argv.data(), environ) == 0);
    ::posix_spawnattr_destroy(&attributes);
  }
  ~NodeProcess() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    Wait();
  }
  void Terminate() { ::kill(pid_, SIGTERM); }
  // Its wait status, once it is gone.
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  // Whether it is gone; then it has been waited for.
  bool Gone() {
    if (pid_ != 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
    return pid_ == 0;
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(EndToEndFaults, StagesThatDieAtAnyPointLoseAndRepeatNothing) {
  const std::optional<std::string> broker = SharedBroker();
  if (!broker) GTEST_SKIP() << kNoBrokerMessage;
  constexpr uint64_t kSeed = 20261121;
  constexpr int kLives = 6;
  std::mt19937_64 random(kSeed);
  const std::string prefix = UniqueName("mortal");
  const std::unique_ptr<KafkaLog> log = OpenKafka(*broker);
  CreateTopics(*log, prefix, 3);
  ASSERT_TRUE(AppendBatches(*log, prefix, InOrder(batches_)).ok());
  const std::string store = folder_.path() + "/store";
  int deaths = 0;
  for (int life = 0; life < kLives; ++life) {
    const uint64_t append = life % 2 == 0 ? 1 + random() % (expected_.patterns.size() / 2) : 0;
    const uint64_t write = life % 2 == 0 ? 0 : 1 + random() % 8;
    NodeProcess node(*broker, prefix, store, append, write);
    const auto deadline = steady_clock::now() + seconds(20);
    // A life that has nothing left to do does not reach its end.
    while (!node.Gone() && steady_clock::now() < deadline &&
           ReadOutput(*log, prefix) != expected_) {
    }
    if (node.Gone()) ++deaths;
  }
  EXPECT_GE(deaths, 3);
  NodeProcess last(*broker, prefix, store, 0, 0);
  const PipelineOutput output = WaitForOutput(*log, prefix, expected_);
  last.Terminate();
  EXPECT_EQ(last.Wait(), 0);
  ExpectSame(expected_, output);
  ExpectSame(expected_, ReadOutput(*log, prefix));
}

}  // namespace
}  // namespace eroica::testing
