// What the diagnose stage does with standings: ranks that get no further, and processes that have
// ended.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "diagnosis/ended_process/ended_process.h"
#include "diagnosis/hang/hang_claim.h"
#include "diagnosis/report/subkinds.h"
#include "schemas/time_unit.h"
#include "stream_ops/diagnose/diagnose_processor.h"

namespace eroica {
namespace {

// Whether ranks are silent whose processes are known to have ended.
bool IsOfEndedProcesses(const Finding& hang, const std::map<std::string, Finding>& open) {
  const auto has_ended = [&open](const Culprit& culprit) {
    return std::ranges::any_of(open, [&](const auto& entry) {
      const Finding& finding = entry.second;
      return finding.subkind == kEndedProcess && !finding.culprits.empty() &&
             finding.culprits.front().rank == culprit.rank;
    });
  };
  return hang.subkind == ToString(HangKind::kSilent) &&
         std::ranges::all_of(hang.culprits, has_ended);
}

}  // namespace

absl::Status DiagnoseProcessor::Add(RankStanding standing, const ConsumerRecord& record) {
  ++probe_.standings_received;
  const JobId id = standing.job;
  const absl::StatusOr<DiagnosedJob*> job = FindJob(id);
  if (!job.ok()) return job.status();
  ages_.Hear(id, record.offset, true);
  if (const auto contest = (*job)->contests.find(standing.rank);
      contest != (*job)->contests.end() && contest->second.IsRefused({standing.host, standing.pid}))
    return absl::OkStatus();
  const uint64_t newest_run = (*job)->windows.runs().newest_run();
  Window window{.kind = standing.window_kind,
                .index = standing.window_index,
                .start_ns = standing.time_ns,
                .end_ns = standing.time_ns,
                .first_step = standing.step,
                .last_step = standing.step};
  (*job)->windows.NumberOpen(standing.rank, &window);
  standing.window_index = window.index;
  if (absl::Status status = HearOfRuns(id, **job, newest_run); !status.ok()) return status;
  if (standing.end) {
    DiagnoseEnd(standing, **job, record.timestamp_ms);
  } else {
    (*job)->hangs.Add(std::move(standing), record.offset);
    DiagnoseHangs(id, **job, false);
  }
  return absl::OkStatus();
}

void DiagnoseProcessor::DiagnoseEnd(const RankStanding& standing, DiagnosedJob& job,
                                    int64_t timestamp_ms) {
  if (const std::optional<UnexplainedFailure> failure = UnexplainedBy(*standing.end))
    return KeepFailure(standing.job, *failure, context_->changes());
  const bool is_explained = std::ranges::any_of(job.lifecycle.open(), [&](const auto& entry) {
    return IsExplainedBy(entry.second, standing);
  });
  if (is_explained) return;
  std::optional<Finding> finding = FindEndedProcess(standing, job.windows.newest_world_size());
  if (!finding) return;
  Publish(job.lifecycle.Report(*std::move(finding)), timestamp_ms);
}

void DiagnoseProcessor::DiagnoseHangs(const JobId& id, DiagnosedJob& job, bool end) {
  while (const std::optional<HangWatch::Due> due = job.hangs.TakeDue(end)) {
    ++probe_.standstills_diagnosed;
    int64_t latest_ns = 0;
    for (const RankStanding& standing : due->standings)
      latest_ns = std::max(latest_ns, standing.time_ns);
    for (Finding& finding : hang_operator_.Evaluate(due->view)) {
      if (!IsOfEndedProcesses(finding, job.lifecycle.open()))
        Publish(job.lifecycle.Report(std::move(finding)), latest_ns / kNsPerMs);
    }
    KeepStalledStep(id, due->step, due->level, context_->changes());
  }
}

}  // namespace eroica
