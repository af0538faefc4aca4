// A node that can be told where to die, for end_to_end_test: the three stages over Kafka and
// RocksDB, until SIGTERM, or until it kills itself as kill -9 would: at the APPENDth record that it
// sends, or around the WRITEth commit (odd: before, even: after the write).
//   stage_node BOOTSTRAP PREFIX STORE_FOLDER APPEND WRITE      0: never
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "state_store/rocksdb_store.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/runtime/stage_threads.h"
#include "tests/support/eroica_topology.h"

namespace eroica::testing {
namespace {

void Die() { ::kill(::getpid(), SIGKILL); }

class DyingProducer : public LogProducer {
 public:
  DyingProducer(std::unique_ptr<LogProducer> inner, std::atomic<int64_t>* left)
      : inner_(std::move(inner)), left_(left) {}
  absl::Status Append(ProducerRecord record) override {
    if (left_->fetch_sub(1) == 1) Die();
    return inner_->Append(std::move(record));
  }
  absl::Status Flush(std::chrono::milliseconds timeout) override { return inner_->Flush(timeout); }

 private:
  std::unique_ptr<LogProducer> inner_;
  std::atomic<int64_t>* const left_;
};

class DyingLog : public Log {
 public:
  DyingLog(Log& inner, int64_t append) : inner_(inner), left_(append) {}
  absl::StatusOr<std::unique_ptr<LogConsumer>> NewConsumer(
      const ConsumerOptions& options) override {
    return inner_.NewConsumer(options);
  }
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer() override {
    absl::StatusOr<std::unique_ptr<LogProducer>> inner = inner_.NewProducer();
    if (!inner.ok()) return inner.status();
    return std::make_unique<DyingProducer>(*std::move(inner), &left_);
  }
  LogAdmin& admin() override { return inner_.admin(); }

 private:
  Log& inner_;
  std::atomic<int64_t> left_;
};

class DyingStore : public StateStore {
 public:
  DyingStore(StateStore& inner, int64_t write) : inner_(inner), write_(write) {}
  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override {
    return inner_.Get(table, key);
  }
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override {
    return inner_.Scan(table, prefix, visit);
  }
  absl::Status Write(const StateChanges& changes) override {
    const bool last = ++writes_ == write_;
    if (last && write_ % 2 == 1) Die();
    const absl::Status status = inner_.Write(changes);
    if (last) Die();
    return status;
  }

 private:
  StateStore& inner_;
  const int64_t write_;
  std::atomic<int64_t> writes_{0};
};

int Run(char** argv) {
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  pthread_sigmask(
      SIG_BLOCK, &stop_signals,
      nullptr);  // before any thread starts: the waiting below is the only one to get it
  absl::StatusOr<std::unique_ptr<KafkaLog>> kafka = KafkaLog::Open({.bootstrap_servers = argv[1]});
  absl::StatusOr<std::unique_ptr<RocksDbStore>> store = RocksDbStore::Open({.folder = argv[3]});
  if (!kafka.ok() || !store.ok()) {
    spdlog::error("stage_node: {} {}", kafka.status().ToString(), store.status().ToString());
    return 1;
  }
  DyingLog log(**kafka, std::atoll(argv[4]));
  DyingStore dying_store(**store, std::atoll(argv[5]));
  StageThreadsOptions options;
  options.thread.task.topic_prefix = argv[2];
  options.thread.poll_records_max = 2;  // small steps and many commits: many places to die at
  options.thread.commit_records_max = 4;
  options.thread.commit_interval = std::chrono::milliseconds(50);
  options.thread.poll_timeout = std::chrono::milliseconds(20);
  options.thread.idle_timeout = std::nullopt;
  options.thread.changelog = true;
  options.thread.consumer.properties["session.timeout.ms"] = "6000";
  options.group_prefix = argv[2];
  options.group_instance_prefix =
      std::string(argv[2]) +
      "-node";  // the next life takes over without waiting for the session of this one
  StageThreads threads(log, dying_store, EroicaTopology(), {}, std::move(options));
  if (const absl::Status status = threads.Start(); !status.ok()) return 1;
  std::jthread terminator([&] {
    int signal = 0;
    sigwait(&stop_signals, &signal);
    threads.RequestStop();
  });
  absl::Status status = threads.Wait();
  if (!status.ok()) {
    spdlog::error("stage_node: {}", status.ToString());
    std::_Exit(1);
  }
  return threads.Stop().ok() ? 0 : 1;
}

}  // namespace
}  // namespace eroica::testing

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: stage_node BOOTSTRAP PREFIX STORE_FOLDER APPEND WRITE\n");
    return 2;
  }
  return eroica::testing::Run(argv);
}
