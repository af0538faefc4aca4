// How many events a second the summarize stage takes out of a real Kafka: fetch, decode,
// critical-path sweep, patterns, and their way into RocksDB and the next topics. The batches are in
// the broker before the clock starts; it runs from the first record to the last commit.
//   ops/kafka.sh start; build/release/tests/benchmarks/end_to_end_benchmark --bootstrap
//   127.0.0.1:19092
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/codec.h"
#include "schemas/test_encoder.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/runtime/changelog.h"
#include "stream_ops/runtime/stream_thread.h"
#include "stream_ops/runtime/topic_layout.h"
#include "stream_ops/summarize/summarize_processor.h"
#include "tests/benchmarks/rank_workload.h"

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string bootstrap = "127.0.0.1:19092";
  uint32_t ranks = 256;  // four shards
  int steps = 30;
  int partitions = 4;
  int threads = 1;
  int runs = 3;
};

struct Input {
  uint64_t records = 0;
  uint64_t events = 0;
  uint64_t bytes = 0;
};

// Exits: a benchmark without its input measures nothing.
void Require(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "end_to_end_benchmark: {}\n", std::string(status.message()));
  std::exit(1);
}

// The same work on every rank, batch after batch of all ranks, as a live job sends them.
Input Produce(Log& log, const std::string& prefix, const Options& options) {
  std::vector<EventBatch> batches =
      MakeRankWorkload({.world_size = options.ranks, .steps = options.steps});
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log.NewProducer();
  Require(producer.status());
  TestEncoder encoder;
  Input input;
  const std::string topic = TopicName(prefix, Topic::kEvents);
  for (EventBatch& batch : batches) {
    for (uint32_t rank = 0; rank < options.ranks; ++rank) {
      batch.identity.rank = RankId(rank);
      const Bytes bytes = encoder.Encode(batch);
      const ProducerRecord record{
          .topic = topic,
          .key = EventsKey(batch.identity.job, batch.identity.rank),
          .value = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
          // Spread evenly: with few shards the key's hash would measure luck.
          .headers = {},
          .partition = static_cast<int32_t>(rank / kRanksPerShard) % options.partitions};
      absl::Status status = (*producer)->Append(record);
      while (status.code() == absl::StatusCode::kResourceExhausted) {
        Require((*producer)->Flush(std::chrono::minutes(1)));
        status = (*producer)->Append(record);
      }
      Require(status);
      ++input.records;
      input.events += batch.intervals.size();
      input.bytes += bytes.size();
    }
  }
  Require((*producer)->Flush(std::chrono::minutes(1)));
  return input;
}

// Of this process, all threads, librdkafka's and RocksDB's too: what a busy machine cannot take
// from the measurement.
double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What a crash may repeat, and what a node pays for it.
struct Mode {
  std::string name;
  bool changelog = false;
  bool exactly_once = false;
};

StreamThreadOptions ThreadOptions(const Mode& mode, const std::string& prefix,
                                  const std::string& group, int thread) {
  StreamThreadOptions options;
  options.task.topic_prefix = prefix;
  options.consumer.group_id = group;
  options.changelog = mode.changelog;
  if (mode.exactly_once) options.transactional_id = fmt::format("{}-{}", group, thread);
  return options;
}

// Drives one StreamThread a thread, all of one group, until all records are processed and
// committed. The stage has the group's name, and so a changelog of its own.
double Consume(Log& log, const std::string& prefix, const std::string& group, const Mode& mode,
               const std::string& store_folder, uint64_t records, int threads) {
  absl::StatusOr<std::unique_ptr<RocksDbStore>> store =
      RocksDbStore::Open({.folder = store_folder});
  Require(store.status());
  const Stage stage{group, Topic::kEvents,
                    [] { return std::make_unique<SummarizeProcessor>(SummarizeOptions{}); }};
  std::atomic<uint64_t> processed{0};
  std::mutex mutex;
  Clock::time_point begin = Clock::time_point::max();
  Clock::time_point end{};
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        StreamThread thread(log, **store, stage, ThreadOptions(mode, prefix, group, i));
        uint64_t own = 0;
        Clock::time_point first = Clock::time_point::max();
        while (processed.load() < records) {
          const Clock::time_point now = Clock::now();
          Require(thread.RunOnce(now).status());
          if (own == 0 && thread.probe().records_processed > 0) first = now;
          processed += thread.probe().records_processed - own;
          own = thread.probe().records_processed;
        }
        Require(thread.Close(Clock::now()));
        const std::lock_guard lock(mutex);
        begin = std::min(begin, first);
        end = std::max(end, Clock::now());
      });
    }
  }
  return std::chrono::duration<double>(end - begin).count();
}

void Run(const Options& options) {
  absl::StatusOr<std::unique_ptr<KafkaLog>> log =
      KafkaLog::Open({.bootstrap_servers = options.bootstrap});
  Require(log.status());
  const std::string prefix = fmt::format("benchmark-{}", Clock::now().time_since_epoch().count());
  TopicLayout layout;
  layout.partitions.fill(options.partitions);
  Require(CreateMissingTopics((*log)->admin(), prefix, layout));
  const Input input = Produce(**log, prefix, options);
  fmt::print("{} batches, {:.1f} M events, {:.2f} bytes an event before compression\n",
             input.records, static_cast<double>(input.events) / 1e6,
             static_cast<double>(input.bytes) / static_cast<double>(input.events));
  const double million = static_cast<double>(input.events) / 1e6;
  for (int run = 0; run < options.runs; ++run) {
    double without = 0;
    for (const Mode& mode :
         {Mode{"no changelog"}, Mode{"at least once", true}, Mode{"exactly once", true, true}}) {
      const std::string group =
          fmt::format("run{}-{}{}", run, mode.changelog ? "c" : "", mode.exactly_once ? "x" : "");
      Require((*log)->admin().CreateTopic({.name = ChangelogTopic(prefix, group),
                                           .partitions = options.partitions,
                                           .config = {{"cleanup.policy", "compact"}}}));
      std::string folder = std::filesystem::temp_directory_path() / "eroica-benchmark-XXXXXX";
      if (::mkdtemp(folder.data()) == nullptr) Require(absl::InternalError("no temporary folder"));
      const double cpu_before = CpuSeconds();
      const double seconds =
          Consume(**log, prefix, group, mode, folder, input.records, options.threads);
      const double cpu = CpuSeconds() - cpu_before;
      std::filesystem::remove_all(folder);
      if (!mode.changelog) without = seconds;
      fmt::print(
          "run {}, {:<13}: {:.3f} s ({:.2f} of no changelog), {:.2f} M events/s with {} thread(s); "
          "{:.2f} s of CPU, {:.2f} M events a CPU second\n",
          run + 1, mode.name, seconds, seconds / without, million / seconds, options.threads, cpu,
          million / cpu);
    }
  }
}

}  // namespace
}  // namespace eroica

int main(int argc, char** argv) {
  eroica::Options options;
  CLI::App app("Events a second of the summarize stage, from a real Kafka into RocksDB");
  app.add_option("--bootstrap", options.bootstrap, "broker, host:port")->capture_default_str();
  app.add_option("--ranks", options.ranks, "ranks of the job")->capture_default_str();
  app.add_option("--steps", options.steps, "training steps, about 4,000 events a rank each")
      ->capture_default_str();
  app.add_option("--partitions", options.partitions, "partitions of each topic")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads of the stage")->capture_default_str();
  app.add_option("--runs", options.runs, "how often the same input is consumed")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  eroica::Run(options);
  return 0;
}
