#include "ops/cli/replay_job.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "ops/cli/job_coverage.h"
#include "ops/cli/replay_gaps.h"
#include "ops/cli/stages.h"
#include "ops/config/memory_shares.h"
#include "ops/findings/finding_reader.h"
#include "producers/core/log_batch_sink.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/replay/replay_run.h"

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSegmentBytes = int64_t{4} << 20;
constexpr std::chrono::minutes kPatience{5};
constexpr std::chrono::seconds kPause{1};

absl::StatusOr<std::unique_ptr<RecordingLog>> OpenFolderLog(const ReplayFolder& folder) {
  return RecordingLog::Open({.directory = folder.path(),
                             .segment_bytes = kSegmentBytes,
                             .compress = false,
                             .sync = false});
}

absl::Status Stopped(const ReplayRun& run) {
  const double share =
      run.total() == 0 ? 1.0 : static_cast<double>(run.done()) / static_cast<double>(run.total());
  return absl::CancelledError(
      fmt::format("stopped at {:.0f} %: the same command goes on from there", share * 100));
}

// What the stages say between two steps leaves the folder again, and is read before.
absl::Status RunToEnd(ReplayRun& run, JobCoverageReader* coverage,
                      const std::function<bool(int64_t done, int64_t total)>& progress) {
  Clock::time_point answered_at = Clock::now();
  while (true) {
    if (!progress(run.done(), run.total())) return Stopped(run);
    const absl::StatusOr<bool> more = run.Step();
    if (more.ok() && !*more) return absl::OkStatus();
    if (more.ok()) {
      if (coverage != nullptr) {
        if (absl::Status status = coverage->Read(); !status.ok()) return status;
      }
      answered_at = Clock::now();
      continue;
    }
    if (!absl::IsUnavailable(more.status()) || Clock::now() - answered_at > kPatience)
      return more.status();
    spdlog::warn("replay: retry=\"{}\"", std::string(more.status().message()));
    std::this_thread::sleep_for(kPause);
  }
}

NodeConfig ReplayConfig(NodeConfig config, const ReplayFolder& folder) {
  config.node.replay_id = folder.record().replay_id;
  return config;
}

absl::StatusOr<std::vector<Finding>> FindingsOf(Log& log, const std::string& prefix) {
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader = FindingReader::Open(log, prefix);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(**reader);
  if (!findings.ok()) return findings.status();
  return LatestVersions(*std::move(findings));
}

// As the first run of the replay finds it.
absl::StatusOr<ReplayRecord> TakeRecord(const ReplayJob& job) {
  const absl::StatusOr<LogSlice> slice = TakeReplaySlice(job);
  if (!slice.ok()) return slice.status();
  std::optional<int64_t> until_ms = job.source.stamped_until_ms;
  if (until_ms) until_ms = std::min(*until_ms, job.request.to_ms.value_or(*until_ms));
  return ReplayRecord{.replay_id = job.id,
                      .topic_prefix = job.config.node.topic_prefix,
                      .request = job.request,
                      .slice = *slice,
                      .until_ms = until_ms,
                      .eroica_version = EROICA_VERSION};
}

ReplayOutcome OutcomeOf(const ReplayRun& run, const Topology& topology, Clock::duration took) {
  ReplayOutcome outcome;
  outcome.records = run.records_fed();
  outcome.bytes = run.bytes_fed();
  outcome.seconds = std::chrono::duration<double>(took).count();
  outcome.span_ms = run.span_ms();
  outcome.records_missing = run.records_missing();
  outcome.corrupt_bytes = run.corrupt_bytes();
  outcome.records_unreadable = run.records_unreadable();
  for (const Stage& stage : topology.stages()) outcome.probe.Add(run.probe(stage.name));
  return outcome;
}

}  // namespace

absl::StatusOr<ReplayJob> PrepareReplay(NodeConfig config, ReplayRequest what, std::string id) {
  absl::StatusOr<LogSource> source = OpenLogSource(config);
  if (!source.ok()) return source.status();
  what.source = source->name;
  what.config = ReplayConfigText(config);
  if (id.empty()) id = ReplayIdOf(what);
  return ReplayJob{.config = std::move(config),
                   .source = *std::move(source),
                   .request = std::move(what),
                   .id = std::move(id)};
}

absl::StatusOr<LogSlice> TakeReplaySlice(const ReplayJob& job) {
  return TakeSlice(*job.source.log, {.topics = ReplayTopics(job.config.node.topic_prefix),
                                     .from_ms = job.request.from_ms,
                                     .to_ms = job.request.to_ms});
}

absl::StatusOr<ReplayFolder> OpenReplayFolder(const ReplayJob& job, const std::string& path) {
  return ReplayFolder::Open(path, job.id, job.request, [&] { return TakeRecord(job); });
}

absl::StatusOr<std::vector<Finding>> ReadReplayFindings(const std::string& path,
                                                        const std::string& topic_prefix) {
  const absl::StatusOr<std::unique_ptr<RecordingLog>> log =
      RecordingLog::Open({.directory = path, .read_only = true});
  if (!log.ok()) return log.status();
  return FindingsOf(**log, topic_prefix);
}

absl::StatusOr<ReplayOutcome> RunReplay(
    const ReplayFolder& folder, const LogSource& source, const NodeConfig& config,
    const std::function<bool(int64_t done, int64_t total)>& progress) {
  const ReplayRecord& record = folder.record();
  const ReplayInput input{
      .slice = record.slice, .readers = source.readers, .until_ms = record.until_ms};
  const absl::StatusOr<std::unique_ptr<RecordingLog>> log = OpenFolderLog(folder);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<RocksDbStore>> store = RocksDbStore::Open(
      {.folder = folder.state_path(), .memory_bytes = static_cast<size_t>(SharesOf(config).state)});
  if (!store.ok()) return store.status();
  ReplayClock clock;
  const bool arrival = input.stamped_at_arrival();
  const auto arrival_clock = [&clock] { return clock.now_ns(); };
  const Topology topology =
      arrival ? EroicaTopology(ReplayConfig(config, folder), RunLength::kEndless, arrival_clock)
              : EroicaTopology(ReplayConfig(config, folder), RunLength::kBounded);
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<std::unique_ptr<ReplayRun>> run =
      ReplayRun::Open(input, **log, **store, topology, &clock,
                      {.topic_prefix = record.topic_prefix,
                       .replay_id = record.replay_id,
                       .job = record.request.job,
                       .poll_records_max = static_cast<size_t>(config.runtime.poll_records_max),
                       .idle_timeout = std::chrono::milliseconds(config.runtime.idle_timeout_ms)});
  if (!run.ok()) return run.status();
  const bool was_finished = (*run)->is_finished();
  std::optional<JobCoverageReader> coverage;
  if (!(*run)->is_resumed()) {
    absl::StatusOr<JobCoverageReader> reader = JobCoverageReader::Open(**log, record.topic_prefix);
    if (!reader.ok()) return reader.status();
    coverage.emplace(*std::move(reader));
  }
  if (absl::Status status = RunToEnd(**run, coverage ? &*coverage : nullptr, progress);
      !status.ok())
    return status;
  ReplayOutcome outcome = OutcomeOf(**run, topology, Clock::now() - start);
  absl::StatusOr<std::vector<Finding>> findings = FindingsOf(**log, record.topic_prefix);
  if (!findings.ok()) return findings.status();
  outcome.findings = *std::move(findings);
  if (was_finished) return outcome;
  const ReplayGaps gaps = coverage ? FindReplayGaps(coverage->Measured(), outcome.findings)
                                   : ReplayGaps{.is_whole = false, .jobs = {}};
  if (absl::Status status = WriteReplayGaps(folder.path(), gaps); !status.ok()) return status;
  return outcome;
}

absl::StatusOr<uint64_t> PublishFindings(const ReplayFolder& folder, Log& target,
                                         const std::string& topic) {
  constexpr std::chrono::milliseconds kNow{0};
  constexpr size_t kRecordsMax = 256;
  const absl::Status made = target.admin().CreateTopic(
      {.name = topic, .config = {{"message.timestamp.type", "LogAppendTime"}}});
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  const absl::StatusOr<std::unique_ptr<RecordingLog>> log = OpenFolderLog(folder);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = (*log)->NewConsumer(
      {.group_id = "publish-" + topic, .group_instance_id = {}, .properties = {}});
  if (!consumer.ok()) return consumer.status();
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = target.NewProducer();
  if (!producer.ok()) return producer.status();
  const TopicPartition findings{TopicName(folder.record().topic_prefix, Topic::kFindings), 0};
  if (absl::Status status = (*consumer)->Subscribe({findings.topic}, nullptr); !status.ok())
    return status;
  uint64_t published = 0;
  while (true) {
    std::vector<ConsumerRecord> records;
    if (absl::Status status = (*consumer)->Poll(kNow, kRecordsMax, &records); !status.ok())
      return status;
    if (records.empty()) return published;
    for (ConsumerRecord& record : records) {
      const ProducerRecord produced{.topic = topic,
                                    .key = std::move(record.key),
                                    .value = std::move(record.value),
                                    .headers = std::move(record.headers),
                                    .timestamp_ms = record.timestamp_ms};
      if (absl::Status status = AppendRecord(**producer, produced, QueueFull::kWait); !status.ok())
        return status;
    }
    published += records.size();
    if (absl::Status status = (*producer)->Flush(kSinkFlushTimeout); !status.ok()) return status;
    if (absl::Status status = (*consumer)->Commit({{findings, records.back().offset + 1}});
        !status.ok())
      return status;
  }
}

}  // namespace eroica
