#include "ops/cli/state_reading.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

#include "ops/cli/job_coverage.h"
#include "ops/cli/lost_entries.h"
#include "ops/cli/replay_gaps.h"
#include "ops/cli/state_folder.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<const RocksDbStore>> OpenState(const std::string& folder) {
  constexpr Table kTables[] = {Table::kFindings, Table::kJobs, Table::kProgress};
  return RocksDbStore::OpenReadOnly({.folder = folder, .memory_bytes = size_t{16} << 20}, kTables);
}

NoFindingsQuestion QuestionOf(const NodeConfig& config, const std::string& job, size_t resolved) {
  if (!config.kafka.bootstrap.empty()) {
    return {.job = job,
            .resolved = resolved,
            .source = config.kafka.bootstrap,
            .node_command = "eroica node --bootstrap " + config.kafka.bootstrap};
  }
  const std::string& recording = config.node.recording;
  return {.job = job,
          .resolved = resolved,
          .source = recording.empty() ? StateFolder(config) : recording,
          .node_command = fmt::format("eroica node --recording {} --drain",
                                      recording.empty() ? "DIR" : recording)};
}

absl::StatusOr<KnownJobs> JobsBehind(Log& log, const NodeConfig& config) {
  constexpr std::chrono::seconds kTime{10};
  if (!config.kafka.bootstrap.empty()) return JobsOfChangelog(log, config.node.topic_prefix, kTime);
  const std::string folder = StateFolder(config);
  if (!std::filesystem::exists(folder)) return KnownJobs();
  const absl::StatusOr<std::unique_ptr<const RocksDbStore>> store = OpenState(folder);
  if (!store.ok()) return store.status();
  absl::StatusOr<KnownJobs> known = JobsOfStore(**store);
  if (!known.ok()) return known;
  const absl::StatusOr<LostEntries> lost = FindLostEntries(log, config);
  if (!lost.ok()) return lost.status();
  known->lost = lost->sentences;
  return known;
}

absl::Status AddRecordedGaps(Log& log, const NodeConfig& config, bool is_silent, KnownJobs* known) {
  if (!config.kafka.bootstrap.empty() || !known->node_has_run) return absl::OkStatus();
  if (IsReplayFolder(config)) {
    const absl::StatusOr<std::optional<ReplayGaps>> gaps = ReadReplayGaps(config.node.recording);
    if (!gaps.ok()) return gaps.status();
    if (gaps->has_value()) AddReplayGaps(**gaps, known);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::map<std::string, JobCoverage>> coverages =
      MeasureJobCoverages(log, config.node.topic_prefix);
  if (!coverages.ok()) return coverages.status();
  for (auto& [name, job] : known->jobs) {
    const auto found = coverages->find(name);
    const JobCoverage coverage = found == coverages->end() ? JobCoverage() : found->second;
    job.gaps = FindLiveGaps(coverage);
    if (is_silent && !job.gaps->undecided) AddBusiestRank(coverage, &*job.gaps);
  }
  if (coverages->empty()) known->gaps = FindLiveGaps(JobCoverage());
  return absl::OkStatus();
}

absl::StatusOr<NoFindings> NoFindingsBehind(Log& log, const NodeConfig& config,
                                            const std::string& job, size_t resolved) {
  absl::StatusOr<KnownJobs> known = JobsBehind(log, config);
  if (!known.ok()) return known.status();
  if (absl::Status status = AddRecordedGaps(log, config, resolved == 0, &*known); !status.ok())
    return status;
  return ExplainNoFindings(*known, QuestionOf(config, job, resolved));
}

}  // namespace eroica
