// From the end of a window to a finding about it: follows a job that runs now, and says how long
// after the last that any rank sent of a window each finding came out whose newest window it is.
// Both by this program's clock as it reads them from the log. At capture level 2 a window ends
// where the next begins, and summarize waits for summarize.out_of_orderness_ms more by its
// configuration.
//   eroica-lab simulate job.toml --bootstrap HOST:PORT --level 1 --pace real &
//   finding_latency --bootstrap HOST:PORT --seconds 300
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schemas/check.h"
#include "stream_ops/kafka/kafka_log.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::unique_ptr<Log> OpenLog(const std::string& bootstrap, const std::string& recording) {
  if (!recording.empty()) {
    auto log =
        RecordingLog::Open({.directory = recording, .read_only = true, .watch_appends = true});
    EROICA_CHECK(log.ok());
    return *std::move(log);
  }
  auto log = KafkaLog::Open({.bootstrap_servers = bootstrap, .properties = {}});
  EROICA_CHECK(log.ok());
  return *std::move(log);
}

// What comes to some topics from now on.
class Tail {
 public:
  Tail(Log& log, const std::vector<std::string>& topics) {
    auto consumer = log.NewConsumer({});
    EROICA_CHECK(consumer.ok());
    consumer_ = *std::move(consumer);
    std::map<TopicPartition, int64_t> ends;
    for (const std::string& topic : topics) {
      const auto spec = log.admin().DescribeTopic(topic);
      EROICA_CHECK(spec.ok());
      for (int32_t index = 0; index < spec->partitions; ++index) {
        const auto end = consumer_->EndOffset({topic, index});
        EROICA_CHECK(end.ok());
        ends[{topic, index}] = *end;
      }
    }
    EROICA_CHECK(consumer_->Assign(ends).ok());
  }

  // At the latest after a millisecond.
  const std::vector<ConsumerRecord>& Poll() {
    records_.clear();
    EROICA_CHECK(consumer_->Poll(milliseconds(1), 1'000, &records_).ok());
    return records_;
  }

 private:
  std::unique_ptr<LogConsumer> consumer_;
  std::vector<ConsumerRecord> records_;
};

class Latencies {
 public:
  void SeeTelemetry(const ConsumerRecord& record) {
    if (FindHeader(record.headers, kHeaderStage)) return;
    if (decoder_.Decode(record.payload(), &patterns_) == DropReason::kNone) {
      ended_[{patterns_.job.value, patterns_.window.index}] = Clock::now();
    } else if (decoder_.Decode(record.payload(), &collectives_) == DropReason::kNone) {
      ended_[{collectives_.job.value, collectives_.window.index}] = Clock::now();
    } else if (decoder_.Decode(record.payload(), &events_) == DropReason::kNone) {
      SeeEvents();
    }
  }
  void SeeFinding(const ConsumerRecord& record) {
    if (decoder_.Decode(record.payload(), &finding_) != DropReason::kNone) return;
    const auto ended = ended_.find({finding_.job.value, finding_.last_window});
    if (ended == ended_.end()) return;
    seconds_.push_back(std::chrono::duration<double>(Clock::now() - ended->second).count());
  }

  void Print() {
    fmt::print("{} windows, {} findings about them\n", ended_.size(), seconds_.size());
    if (seconds_.empty()) return;
    std::sort(seconds_.begin(), seconds_.end());
    const auto quantile = [&](double q) {
      return seconds_[static_cast<size_t>(q * static_cast<double>(seconds_.size() - 1) + 0.5)] *
             1e3;
    };
    fmt::print(
        "window end to finding: p50 {:.0f} ms, p90 {:.0f} ms, p99 {:.0f} ms, most {:.0f} ms\n",
        quantile(0.5), quantile(0.9), quantile(0.99), quantile(1));
    PrintHistogram();
  }

 private:
  void SeeEvents() {
    const int64_t size = events_.identity.window_steps;
    const int64_t offset = events_.identity.window_offset;
    for (const Mark& mark : events_.marks) {
      const bool is_first = size > 0 && (mark.id - offset) % size == 0;
      if (mark.kind == MarkKind::kStepBegin && is_first)
        ended_[{events_.identity.job.value, (mark.id - offset) / size - 1}] = Clock::now();
    }
  }
  // By powers of two.
  void PrintHistogram() const {
    std::map<int, size_t> counts;
    for (const double seconds : seconds_) {
      int bound_ms = 1;
      while (bound_ms < seconds * 1e3) bound_ms *= 2;
      ++counts[bound_ms];
    }
    for (const auto& [bound_ms, count] : counts)
      fmt::print("{:>8} ms {:>6} {}\n", fmt::format("<= {}", bound_ms), count,
                 std::string(count * 60 / seconds_.size(), '#'));
  }

  Decoder decoder_;
  EventBatch events_;
  PatternBatch patterns_;
  CollectiveBatch collectives_;
  Finding finding_;
  std::map<std::pair<std::string, int64_t>, Clock::time_point> ended_;  // by job and window
  std::vector<double> seconds_;
};

}  // namespace
}  // namespace eroica

int main(int argc, char** argv) {
  using eroica::Topic;
  CLI::App app("From the end of a window to a finding about it");
  std::string bootstrap;
  std::string recording;
  std::string prefix = "eroica";
  int seconds = 300;
  auto* place = app.add_option_group("log")->require_option(1);
  place->add_option("--bootstrap", bootstrap);
  place->add_option("--recording", recording);
  app.add_option("--topic-prefix", prefix);
  app.add_option("--seconds", seconds);
  CLI11_PARSE(app, argc, argv);

  const std::unique_ptr<eroica::Log> log = eroica::OpenLog(bootstrap, recording);
  eroica::Tail telemetry(*log,
                         {TopicName(prefix, Topic::kEvents), TopicName(prefix, Topic::kPatterns),
                          TopicName(prefix, Topic::kCollectives)});
  eroica::Tail findings(*log, {TopicName(prefix, Topic::kFindings)});
  eroica::Latencies latencies;
  const auto end = eroica::Clock::now() + std::chrono::seconds(seconds);
  while (eroica::Clock::now() < end) {
    for (const auto& record : telemetry.Poll()) latencies.SeeTelemetry(record);
    for (const auto& record : findings.Poll()) latencies.SeeFinding(record);
  }
  latencies.Print();
  return 0;
}
