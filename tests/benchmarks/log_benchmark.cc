// How fast the logs take and give records of the size of an EventBatch. Bytes are those of the
// values, before compression. Kafka needs a broker:
//   EROICA_TEST_BROKER=$(ops/kafka.sh start) log_benchmark
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "schemas/check.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

constexpr std::chrono::milliseconds kPatience{60'000};
constexpr int32_t kPartitions = 4;
constexpr size_t kValueBytes = 72 << 10;
constexpr size_t kRecords = 4'000;  // of kValueBytes: 281 MiB

// Small deltas with some noise, as the columns of a batch are: lz4 takes it to about 60 %.
std::string BatchLikeValue() {
  std::string value(kValueBytes, '\0');
  std::mt19937 random(1);
  for (size_t i = 0; i < value.size(); i += 4) {
    value[i] = static_cast<char>(random());
    value[i + 1] = static_cast<char>(random() % 4);
  }
  return value;
}

std::string UniqueTopic() {
  static int count = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return "benchmark-" +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) + "-" +
         std::to_string(count++);
}

void AppendAll(LogProducer& producer, const std::string& topic, const std::string& value) {
  for (size_t i = 0; i < kRecords; ++i) {
    const ProducerRecord record{.topic = topic,
                                .key = "job/7",
                                .value = value,
                                .headers = {{"schema", "EVB1"}},
                                .timestamp_ms = 1,
                                .partition = static_cast<int32_t>(i) % kPartitions};
    absl::Status status = producer.Append(record);
    while (absl::IsResourceExhausted(status)) {
      producer.Flush(std::chrono::milliseconds(5)).IgnoreError();  // makes room
      status = producer.Append(record);
    }
    EROICA_CHECK(status.ok());
  }
  EROICA_CHECK(producer.Flush(kPatience).ok());
}

void ReadAll(Log& log, const std::string& topic) {
  auto consumer = *log.NewConsumer({});
  EROICA_CHECK(consumer->Subscribe({topic}, nullptr).ok());
  std::vector<ConsumerRecord> records;
  for (size_t count = 0; count < kRecords; count += records.size()) {
    records.clear();
    EROICA_CHECK(consumer->Poll(kPatience, 500, &records).ok());
    EROICA_CHECK(!records.empty());
  }
}

std::string NewTopic(Log& log) {
  const std::string topic = UniqueTopic();
  EROICA_CHECK(
      log.admin().CreateTopic({.name = topic, .partitions = kPartitions, .config = {}}).ok());
  return topic;
}

void AppendBenchmark(benchmark::State& state, Log& log) {
  const std::string value = BatchLikeValue();
  auto producer = *log.NewProducer();
  for (auto _ : state) {
    state.PauseTiming();
    const std::string topic = NewTopic(log);
    state.ResumeTiming();
    AppendAll(*producer, topic, value);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRecords * kValueBytes));
}

void ReadBenchmark(benchmark::State& state, Log& log) {
  const std::string topic = NewTopic(log);
  AppendAll(**log.NewProducer(), topic, BatchLikeValue());
  for (auto _ : state) ReadAll(log, topic);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRecords * kValueBytes));
}

// A recording in the current folder: the disk that is asked about.
class ScratchRecording {
 public:
  explicit ScratchRecording(bool compress)
      : path_(std::filesystem::current_path() / UniqueTopic()) {
    log_ = *RecordingLog::Open({.directory = path_.string(), .compress = compress});
  }
  ~ScratchRecording() {
    log_.reset();
    std::filesystem::remove_all(path_);
  }
  Log& log() { return *log_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<RecordingLog> log_;
};

void RecordingAppend(benchmark::State& state) {
  AppendBenchmark(state, ScratchRecording(state.range(0) != 0).log());
}
BENCHMARK(RecordingAppend)
    ->ArgName("lz4")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void RecordingRead(benchmark::State& state) {
  ReadBenchmark(state, ScratchRecording(state.range(0) != 0).log());
}
BENCHMARK(RecordingRead)
    ->ArgName("lz4")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

std::unique_ptr<KafkaLog> OpenKafka(benchmark::State& state) {
  const char* address = std::getenv("EROICA_TEST_BROKER");
  if (address == nullptr) {
    state.SkipWithError("EROICA_TEST_BROKER is not set");
    return nullptr;
  }
  return *KafkaLog::Open(
      {.bootstrap_servers = address,
       .properties = {{"compression.codec", state.range(0) != 0 ? "lz4" : "none"}}});
}

void KafkaProduce(benchmark::State& state) {
  if (const auto log = OpenKafka(state)) AppendBenchmark(state, *log);
}
BENCHMARK(KafkaProduce)
    ->ArgName("lz4")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void KafkaConsume(benchmark::State& state) {
  if (const auto log = OpenKafka(state)) ReadBenchmark(state, *log);
}
BENCHMARK(KafkaConsume)
    ->ArgName("lz4")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void MemoryAppendAndRead(benchmark::State& state) {
  const std::string value = BatchLikeValue();
  for (auto _ : state) {
    MemoryLog log;
    const std::string topic = NewTopic(log);
    AppendAll(**log.NewProducer(), topic, value);
    ReadAll(log, topic);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRecords * kValueBytes));
}
BENCHMARK(MemoryAppendAndRead)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace eroica

BENCHMARK_MAIN();
