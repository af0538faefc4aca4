#include "tests/evaluation/score/job_run.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "schemas/codec.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/align/align_processor.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {
namespace {

constexpr std::chrono::seconds kTimeout{60};  // memory never makes anybody wait

Stage MakeStage(std::string_view name) {
  if (name == kAlignStage)
    return {std::string(name), Topic::kCollectives,
            [] { return std::make_unique<AlignProcessor>(); }};
  return {std::string(name), Topic::kPatterns,
          [] { return std::make_unique<DiagnoseProcessor>(); }};
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobRun>> JobRun::Create(const SummarizeOptions& options) {
  std::unique_ptr<JobRun> run(new JobRun());
  if (absl::Status status =
          CreateMissingTopics(run->log_.admin(), kDefaultTopicPrefix, TopicLayout());
      !status.ok())
    return status;
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = run->log_.NewProducer();
  if (!producer.ok()) return producer.status();
  run->producer_ = *std::move(producer);
  run->summarizer_ = std::make_unique<EdgeSummarizer>(
      options, [self = run.get()](const EdgeRecord& record) { return self->Append(record); });
  return run;
}

absl::Status JobRun::Append(const EdgeRecord& record) {
  ProducerRecord out{.topic = TopicName(kDefaultTopicPrefix, record.topic),
                     .key = record.key,
                     .value = {},
                     .headers = {},
                     .timestamp_ms = record.timestamp_ms,
                     .partition = {}};
  out.value.assign(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
  out.headers = {{std::string(kHeaderSchema), std::string(SchemaId(record.type))},
                 {std::string(kHeaderJob), record.job.value}};
  return producer_->Append(std::move(out));
}

absl::Status JobRun::Align() {
  if (absl::Status status = summarizer_->Finish(); !status.ok()) return status;
  if (absl::Status status = producer_->Flush(kTimeout); !status.ok()) return status;
  return RunStage(kAlignStage);
}

absl::Status JobRun::RunStage(std::string_view name) {
  InMemoryStore store;
  const Topology topology({MakeStage(name)});
  return BoundedRun(log_, store, topology, BoundedRunOptions()).Run();
}

absl::StatusOr<std::vector<SaidFinding>> JobRun::Diagnose() {
  if (absl::Status status = RunStage(kDiagnoseStage); !status.ok()) return status;
  std::vector<SaidFinding> said;
  std::unordered_map<std::string, size_t> index;
  Decoder decoder;
  const absl::Status status = ForEachRecord(Topic::kFindings, [&](const ConsumerRecord& record) {
    Finding finding;
    if (decoder.Decode(record.payload(), &finding) != DropReason::kNone)
      return absl::DataLossError("a finding cannot be decoded");
    const auto [it, is_new] = index.try_emplace(finding.id, said.size());
    if (is_new) said.push_back({.finding = {}, .opened_window = finding.last_window});
    said[it->second].finding = std::move(finding);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return said;
}

absl::Status JobRun::ForEachPattern(const std::function<absl::Status(const ConsumerRecord&)>& use) {
  return ForEachRecord(Topic::kPatterns, use);
}

absl::Status JobRun::ForEachRecord(Topic topic,
                                   const std::function<absl::Status(const ConsumerRecord&)>& use) {
  constexpr size_t kRecordsMax = 64;
  const TopicPartition partition{TopicName(kDefaultTopicPrefix, topic), 0};
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log_.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  if (absl::Status status = (*consumer)->Subscribe({partition.topic}, nullptr); !status.ok())
    return status;
  std::vector<ConsumerRecord> records;
  for (int64_t next = 0;;) {
    records.clear();
    if (absl::Status status =
            (*consumer)->Poll(std::chrono::milliseconds(0), kRecordsMax, &records);
        !status.ok())
      return status;
    for (const ConsumerRecord& record : records) {
      if (absl::Status status = use(record); !status.ok()) return status;
      next = record.offset + 1;
    }
    const absl::StatusOr<int64_t> end = (*consumer)->EndOffset(partition);
    if (!end.ok()) return end.status();
    if (next >= *end) return absl::OkStatus();
  }
}

}  // namespace eroica
