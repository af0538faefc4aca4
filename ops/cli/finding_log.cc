#include "ops/cli/finding_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ops/cli/state_reading.h"
#include "ops/cli/stored_findings.h"

namespace eroica {
namespace {

void LogLine(const char* what, const Finding& finding) {
  spdlog::info("finding: {} severity={} id={} job=\"{}\" title=\"{}\"", what,
               ToString(finding.severity), finding.id, finding.job.value, finding.title);
}

std::string FindingsCommand(const NodeConfig& config) {
  return config.node.recording.empty()
             ? fmt::format("eroica findings --bootstrap {}", config.kafka.bootstrap)
             : fmt::format("eroica findings --recording {}", config.node.recording);
}

}  // namespace

void FindingLog::Published(const Finding& finding) {
  constexpr size_t kOpenMost = 65'536;  // beyond, an update may be logged as opened once more
  const MutexLock lock(mutex_);
  if (finding.state == FindingState::kResolved) {
    open_.erase(finding.id);
    ++resolved_;
    LogLine("resolved", finding);
    return;
  }
  if (open_.size() >= kOpenMost) open_.clear();
  const bool is_new = open_.insert(finding.id).second;
  if (is_new && finding.state == FindingState::kOpened) {
    ++opened_;
    LogLine("opened", finding);
  } else {
    spdlog::debug("finding: updated severity={} id={} job=\"{}\"", ToString(finding.severity),
                  finding.id, finding.job.value);
  }
}

void FindingLog::Progress(const std::map<std::string, StageProbe>& probes, TimePoint now) {
  const MutexLock lock(mutex_);
  if (now - progress_at_ < kProgressEvery) return;
  std::string progress;
  for (const auto& [stage, probe] : probes)
    progress += fmt::format(" {}={}", stage, probe.records_processed);
  progress +=
      fmt::format(" findings_open={} opened={} resolved={}", open_.size(), opened_, resolved_);
  progress_at_ = now;
  if (progress == progress_) return;
  progress_ = progress;
  spdlog::info("node: processed{}", progress);
}

absl::StatusOr<std::string> DrainOutcome(Log& log, const StateStore& store,
                                         const NodeConfig& config,
                                         const std::vector<std::string>& lost) {
  const absl::StatusOr<StoredFindings> stored = ReadStoredFindings(store, "");
  if (!stored.ok()) return stored.status();
  if (stored->findings.empty()) {
    absl::StatusOr<KnownJobs> known = JobsOfStore(store);
    if (!known.ok()) return known.status();
    known->lost = lost;
    if (absl::Status status = AddRecordedGaps(log, config, /*is_silent=*/true, &*known);
        !status.ok())
      return status;
    NoFindings none = ExplainNoFindings(*known, QuestionOf(config, "", 0));
    for (const std::string& reason : none.reasons) none.text += " " + reason;
    return std::move(none.text);
  }
  const auto count = stored->findings.size();
  const auto open = std::ranges::count_if(stored->findings, [](const Finding& finding) {
    return finding.state != FindingState::kResolved;
  });
  return fmt::format("{} finding{}, {} open. See {}: `{}`", count, count == 1 ? "" : "s", open,
                     count == 1 ? "it" : "them", FindingsCommand(config));
}

absl::StatusOr<std::string> DrainOutcomeJson(const StateStore& store,
                                             const std::map<std::string, StageProbe>& probes,
                                             const std::vector<std::string>& lost) {
  const absl::StatusOr<StoredFindings> stored = ReadStoredFindings(store, "");
  if (!stored.ok()) return stored.status();
  const absl::StatusOr<KnownJobs> known = JobsOfStore(store);
  if (!known.ok()) return known.status();
  const auto open = std::ranges::count_if(stored->findings, [](const Finding& finding) {
    return finding.state != FindingState::kResolved;
  });
  nlohmann::ordered_json stages;
  for (const auto& [stage, probe] : probes)
    stages[stage] = {{"received", probe.records_received},
                     {"processed", probe.records_processed},
                     {"emitted", probe.records_emitted}};
  const nlohmann::ordered_json json{{"jobs", known->jobs.size()},
                                    {"findings", stored->findings.size()},
                                    {"findings_open", open},
                                    {"lost", lost},
                                    {"stages", stages}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace eroica
