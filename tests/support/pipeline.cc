#include "tests/support/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "schemas/codec.h"
#include "schemas/finding_json.h"
#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/stream_task.h"
#include "stream_ops/runtime/testing/log_reading.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica::testing {
namespace {

constexpr int kCrashesMax = 12;
constexpr std::chrono::seconds kFlushTimeout{60};

int64_t FirstTime(const EventBatch& batch) {
  return batch.intervals.size() > 0 ? batch.intervals.start_ns.front() : 0;
}

void SortDistinct(std::vector<std::string>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace

std::vector<PipelineWay> AllWays() {
  return {{"in order", 1, false, false, 1},
          {"three partitions", 3, false, false, 1},
          {"eight partitions", 8, false, false, 1},
          {"disordered", 1, true, false, 1},
          {"disordered again", 3, true, false, 2},
          {"crashing", 1, false, true, 3},
          {"crashing, eight partitions", 8, false, true, 4},
          {"everything at once", 3, true, true, 5}};
}

std::vector<const EventBatch*> Arrange(const std::vector<EventBatch>& batches,
                                       const PipelineWay& way) {
  std::vector<const EventBatch*> order;
  for (const EventBatch& batch : batches) order.push_back(&batch);
  if (!way.disorder) return order;
  std::mt19937_64 random(way.seed);
  std::map<std::pair<JobId, RankId>, std::vector<const EventBatch*>> ranks;
  for (const EventBatch* batch : order)
    ranks[{batch->identity.job, batch->identity.rank}].push_back(batch);
  order.clear();
  for (auto& [rank, own] : ranks) {
    // The last batch of a process stays last: what comes after a producer has said goodbye is late
    // by right.
    const auto is_last = [&own](size_t i) {
      return i + 1 == own.size() || own[i]->identity.started_ns != own[i + 1]->identity.started_ns;
    };
    for (size_t i = 0; i + 2 < own.size(); ++i) {
      if (random() % 3 != 0 || is_last(i) || is_last(i + 1)) continue;
      std::swap(own[i], own[i + 1]);
      // neighbors only: carried on and on, a batch would leave the bound of what may come out of
      // order
      ++i;
    }
    for (size_t i = 0; i + 1 < own.size(); ++i) {
      if (random() % 5 == 0)
        own.insert(own.begin() + static_cast<std::ptrdiff_t>(i + 1 + random() % 2), own[i]);
    }
    order.insert(order.end(), own.begin(), own.end());
  }
  // Ranks mixed as time goes by, each in its own order: a rank's batch is sent with the latest time
  // that the rank has sent so far.
  std::map<std::pair<JobId, RankId>, int64_t> latest;
  std::vector<std::pair<int64_t, const EventBatch*>> timed;
  for (const EventBatch* batch : order) {
    int64_t& time = latest[{batch->identity.job, batch->identity.rank}];
    time = std::max(time, FirstTime(*batch));
    timed.emplace_back(time, batch);
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < timed.size(); ++i) order[i] = timed[i].second;
  return order;
}

absl::Status AppendBatches(Log& log, std::string_view prefix,
                           const std::vector<const EventBatch*>& batches) {
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log.NewProducer();
  if (!producer.ok()) return producer.status();
  TestEncoder encoder;
  for (const EventBatch* batch : batches) {
    const Bytes bytes = encoder.Encode(*batch);
    ProducerRecord record{TopicName(prefix, Topic::kEvents),
                          EventsKey(batch->identity.job, batch->identity.rank),
                          {},
                          {},
                          0,
                          std::nullopt};
    record.value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    record.headers = {{std::string(kHeaderSchema), std::string(SchemaId(PayloadType::kEventBatch))},
                      {std::string(kHeaderJob), batch->identity.job.value},
                      {std::string(kHeaderRank), std::to_string(batch->identity.rank.value)}};
    record.timestamp_ms = FirstTime(*batch) / 1'000'000;
    if (const absl::Status status = (*producer)->Append(std::move(record)); !status.ok())
      return status;
  }
  return (*producer)->Flush(kFlushTimeout);
}

PipelineOutput ReadOutput(Log& log, std::string_view prefix) {
  PipelineOutput output;
  for (ConsumerRecord& record : ReadTopic(log, TopicName(prefix, Topic::kPatterns))) {
    output.patterns.push_back(record.key + '\n' + record.value);
  }
  Decoder decoder;
  Finding finding;
  for (const ConsumerRecord& record : ReadTopic(log, TopicName(prefix, Topic::kFindings))) {
    const DropReason reason = decoder.Decode(record.payload(), &finding);
    output.findings.push_back(reason == DropReason::kNone
                                  ? ToJson(finding, JsonTimes::kOmit)
                                  : fmt::format("not a finding: {}", ToString(reason)));
  }
  for (const ConsumerRecord& record : ReadTopic(log, TopicName(prefix, Topic::kDeadLetter))) {
    output.dead_letters.emplace_back(
        FindHeader(record.headers, kHeaderDeadLetterReason).value_or("no reason"));
  }
  SortDistinct(&output.patterns);
  std::sort(output.findings.begin(), output.findings.end());
  const std::vector<std::string>& findings = output.findings;
  for (size_t i = 1; i < findings.size(); ++i) {
    if (findings[i] == findings[i - 1]) output.repeated_findings.push_back(findings[i]);
  }
  SortDistinct(&output.findings);
  std::sort(output.dead_letters.begin(), output.dead_letters.end());
  return output;
}

absl::StatusOr<PipelineOutput> RunPipeline(const std::vector<EventBatch>& batches,
                                           const Topology& topology, const PipelineWay& way) {
  MemoryLog log;
  InMemoryStore store;
  TopicLayout layout;
  layout.partitions.fill(way.partitions);
  if (const absl::Status status = CreateMissingTopics(log.admin(), kDefaultTopicPrefix, layout);
      !status.ok())
    return status;
  if (const absl::Status status = AppendBatches(log, kDefaultTopicPrefix, Arrange(batches, way));
      !status.ok())
    return status;
  BoundedRunOptions options;
  std::mt19937_64 random(way.seed);
  if (way.crashes) {
    options.poll_records_max = 1 + batches.size() / 16;
    options.commit_records_max = 2 * options.poll_records_max;
    for (int crash = 0; crash < kCrashesMax; ++crash) {
      BoundedRun run(log, store, topology, options);
      for (uint64_t steps = random() % 24; steps > 0; --steps) {
        const absl::StatusOr<bool> more = run.Step();
        if (!more.ok()) return more.status();
      }
    }
  }
  if (const absl::Status status = BoundedRun(log, store, topology, options).Run(); !status.ok())
    return status;
  return ReadOutput(log, kDefaultTopicPrefix);
}

}  // namespace eroica::testing
