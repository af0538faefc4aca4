#include "stream_ops/diagnose/diagnosed_job.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/codec.h"
#include "schemas/diagnosis_state.h"
#include "state_store/key_schema.h"
#include "stream_ops/job_ages.h"

namespace eroica {
namespace {

std::string NumberValue(int64_t number) { return KeyWriter().PutInt64(number).key(); }

std::optional<int64_t> NumberIn(std::string_view value) {
  KeyReader reader(value);
  const std::optional<int64_t> number = reader.TakeInt64();
  return reader.AtEnd() ? number : std::nullopt;
}

// False where the row cannot be read.
bool RestoreClosedWindow(KeyReader key, std::string_view value, JobWindows& windows) {
  const auto kind = key.TakeByte();
  const auto index = NumberIn(value);
  if (!kind || *kind >= kWindowKindCount || !key.AtEnd() || !index) return false;
  windows.RestoreClosed({static_cast<WindowKind>(*kind), *index});
  return true;
}

bool RestoreStalledStep(KeyReader key, std::string_view value, HangWatch& hangs) {
  const auto step = key.TakeInt64();
  const auto level = NumberIn(value);
  if (!step || !key.AtEnd() || !level) return false;
  hangs.RestoreLookedAt(*step, static_cast<int>(*level));
  return true;
}

template <typename State, typename Owner>
bool RestoreState(std::string_view value, Owner& owner) {
  State state;
  if (!DecodeState(value, &state)) return false;
  owner.Restore(std::move(state));
  return true;
}

bool RestoreRow(ProgressKey key, std::string_view value, DiagnosedJob& job) {
  switch (key.family) {
    case ProgressFamily::kClosedWindow: return RestoreClosedWindow(key.rest, value, job.windows);
    case ProgressFamily::kStalledStep: return RestoreStalledStep(key.rest, value, job.hangs);
    case ProgressFamily::kAge: return true;      // JobAges has it
    case ProgressFamily::kFailure: return true;  // who lists jobs reads it
    case ProgressFamily::kRuns: return job.windows.runs().Restore(value);
    case ProgressFamily::kLedger: return RestoreState<LedgerState>(value, job.lifecycle);
    case ProgressFamily::kTelemetryGaps: return RestoreState<TelemetryGapsState>(value, job.gaps);
    default: return job.history.Restore(std::move(key), value).ok();
  }
}

absl::Status RestoreProgress(const StateStore& store, const JobId& id, DiagnosedJob& job) {
  bool readable = true;
  const absl::Status scanned = store.Scan(
      Table::kProgress, EncodeKey(id), [&](std::string_view key, std::string_view value) {
        std::optional<ProgressKey> row = DecodeProgressKey(key);
        readable = row && RestoreRow(*std::move(row), value, job);
        return readable;
      });
  job.history.FinishRestore();
  if (readable) return scanned;
  return absl::DataLossError(
      fmt::format("what is kept of job {} in the state store cannot be read: move the store's "
                  "folder away and restart, the job is diagnosed anew from the input",
                  absl::Utf8SafeCHexEscape(id.value)));
}

absl::Status RestoreFindings(const StateStore& store, const JobId& id, DiagnosedJob& job) {
  Decoder decoder;
  return store.Scan(Table::kFindings, EncodeKey(id), [&](std::string_view, std::string_view value) {
    Finding finding;
    if (decoder.Decode(std::as_bytes(std::span(value)), &finding) == DropReason::kNone)
      job.lifecycle.Restore(std::move(finding));
    return true;
  });
}

}  // namespace

std::vector<ContestedRank> ContestedRanksOf(const DiagnosedJob& job, const CrossRankView& view) {
  std::map<uint32_t, ContestedRank> ranks;
  for (const RankView& rank : view.ranks()) {
    for (const SuspendedCapture& suspended : rank.batch->suspended) {
      if (suspended.gap.capture != CaptureKind::kProcesses) continue;
      ContestedRank& contested = ranks[rank.rank.value];
      contested = {.rank = rank.rank.value, .processes = suspended.gap.detail + 1, .hosts = {}};
      if (!rank.batch->host.empty()) contested.hosts = {rank.batch->host};
    }
  }
  for (const auto& [rank, contest] : job.contests) {
    if (auto contested = contest.Of(rank.value)) ranks[rank.value] = *std::move(contested);
  }
  std::vector<ContestedRank> all;
  for (auto& [rank, contested] : ranks) all.push_back(std::move(contested));
  return all;
}

void ForgetRunBefore(const JobId& id, DiagnosedJob& job, StateChanges& changes) {
  job.history.Forget(id, WindowKind::kSteps, changes);
  job.lifecycle.BeginRun();
  job.gaps = TelemetryGaps();
}

absl::StatusOr<std::unique_ptr<DiagnosedJob>> LoadJob(const StateStore& store, const JobId& id) {
  auto job = std::make_unique<DiagnosedJob>();
  absl::Status status = RestoreProgress(store, id, *job);
  if (status.ok()) status = RestoreFindings(store, id, *job);
  if (!status.ok()) return status;
  return job;
}

void KeepClosedWindow(const JobId& id, WindowId window, StateChanges& changes) {
  changes.Put(Table::kProgress,
              BeginProgressKey(id, ProgressFamily::kClosedWindow)
                  .PutByte(static_cast<uint8_t>(window.first))
                  .key(),
              NumberValue(window.second));
}

void KeepRuns(const JobId& id, const RunNumbering& runs, StateChanges& changes) {
  changes.Put(Table::kProgress, BeginProgressKey(id, ProgressFamily::kRuns).key(), runs.Encode());
}

void KeepStalledStep(const JobId& id, int64_t step, int level, StateChanges& changes) {
  changes.Put(Table::kProgress,
              BeginProgressKey(id, ProgressFamily::kStalledStep).PutInt64(step).key(),
              NumberValue(level));
}

absl::Status ForgetStalledSteps(const JobId& id, ProcessorContext& context) {
  return ForgetProgress(BeginProgressKey(id, ProgressFamily::kStalledStep).key(), context);
}

void KeepFailure(const JobId& id, const UnexplainedFailure& failure, StateChanges& changes) {
  changes.Put(Table::kProgress, BeginProgressKey(id, ProgressFamily::kFailure).key(),
              EncodeFailureRow(failure));
}

void ForgetFailure(const JobId& id, StateChanges& changes) {
  changes.Delete(Table::kProgress, BeginProgressKey(id, ProgressFamily::kFailure).key());
}

void KeepLedger(const JobId& id, const FindingLifecycle& lifecycle, StateChanges& changes) {
  changes.Put(Table::kProgress, BeginProgressKey(id, ProgressFamily::kLedger).key(),
              EncodeState(lifecycle.State()));
}

void KeepTelemetryGaps(const JobId& id, const TelemetryGaps& gaps, StateChanges& changes) {
  changes.Put(Table::kProgress, BeginProgressKey(id, ProgressFamily::kTelemetryGaps).key(),
              EncodeState(gaps.State()));
}

}  // namespace eroica
