// One job as its diagnose task holds it, and how it is kept in the state store.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "diagnosis/hang/hang_watch.h"
#include "diagnosis/ledger/finding_lifecycle.h"
#include "diagnosis/monitoring_gap/telemetry_gaps.h"
#include "schemas/ids.h"
#include "state_store/state_store.h"
#include "stream_ops/diagnose/failure_row.h"
#include "stream_ops/diagnose/job_history.h"
#include "stream_ops/diagnose/job_windows.h"
#include "stream_ops/diagnose/payload_packer.h"
#include "stream_ops/processor.h"
#include "stream_ops/rank_contest.h"

namespace eroica {

// What waits packed for a window (DiagnoseProcessor::Packs).
struct PackedWindow {
  std::map<RankId, PackedPayload> batches;
  std::map<CommId, PackedPayload> summaries;
};

struct DiagnosedJob {
  JobWindows windows;
  std::map<RankId, RankContest> contests;
  std::map<WindowId, PackedWindow> packed;  // of open windows
  // The first ones that were packed: the dictionaries of all that wait packed.
  std::string first_batch;
  std::string first_summary;
  std::map<WindowId, uint64_t> window_bytes;  // of open windows, about
  uint64_t bytes = 0;                         // of all of them
  FindingLifecycle lifecycle;
  JobHistory history;
  HangWatch hangs;
  TelemetryGaps gaps;
};

// Ranks that several processes were at once: on several hosts, or as the rank itself reports of its
// own. view: of the newest window.
std::vector<ContestedRank> ContestedRanksOf(const DiagnosedJob& job, const CrossRankView& view);

// A run begins (run_numbering.h): its processes are not those of the run before, and code and hosts
// may be others. It is judged by itself; open findings end as those that are seen no more.
void ForgetRunBefore(const JobId& id, DiagnosedJob& job, StateChanges& changes);

// As the store has it; a new one where it has nothing of the job. kDataLoss: a row cannot be read.
absl::StatusOr<std::unique_ptr<DiagnosedJob>> LoadJob(const StateStore& store, const JobId& id);

// The job's rows of kProgress that change with each window, but for its history.
void KeepClosedWindow(const JobId& id, WindowId window, StateChanges& changes);
void KeepRuns(const JobId& id, const RunNumbering& runs, StateChanges& changes);
void KeepStalledStep(const JobId& id, int64_t step, int level, StateChanges& changes);
// Of a run before: what was looked at there says nothing of the one that has begun.
absl::Status ForgetStalledSteps(const JobId& id, ProcessorContext& context);
void KeepFailure(const JobId& id, const UnexplainedFailure& failure, StateChanges& changes);
// Its next run is another one.
void ForgetFailure(const JobId& id, StateChanges& changes);
void KeepLedger(const JobId& id, const FindingLifecycle& lifecycle, StateChanges& changes);
void KeepTelemetryGaps(const JobId& id, const TelemetryGaps& gaps, StateChanges& changes);

}  // namespace eroica
