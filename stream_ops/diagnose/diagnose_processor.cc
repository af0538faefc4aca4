#include "stream_ops/diagnose/diagnose_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "diagnosis/bounded_times.h"
#include "diagnosis/monitoring_gap/stopped_captures.h"
#include "schemas/finding_json.h"
#include "schemas/time_unit.h"
#include "state_store/key_schema.h"
#include "stream_ops/diagnose/job_row.h"

namespace eroica {
namespace {

// What a decoded row takes for each byte of its payload, about.
constexpr uint64_t kBytesOfPayloadByte = 4;

// A job that starts, or one whose steps nobody marks: what ranks differ by is no fault of a step,
// and the window is only shown.
bool IsBeforeSteps(const CrossRankView& view) {
  return view.window_kind() == WindowKind::kTime &&
         std::ranges::none_of(view.ranks(), [](const RankView& rank) { return rank.has_steps(); });
}

bool IsLastOfJob(const CrossRankView& view) {
  return std::all_of(view.ranks().begin(), view.ranks().end(),
                     [](const RankView& rank) { return rank.batch->final; });
}

// Whether the job changes its size within the window: it has more or fewer ranks than before, or
// some said their last word and the others go on from there. Then ranks have steps of two layouts
// in it, and the first ones of new processes, and nobody can be compared with anybody.
bool ChangesSize(const CrossRankView& view, std::span<const RankTimes> past) {
  if (!past.empty() && past.back().world_size != view.world_size()) return true;
  int64_t last_word = -1;
  for (const RankView& rank : view.ranks()) {
    if (rank.batch->final && !rank.batch->steps.empty())
      last_word = std::max(last_word, rank.batch->steps.back().id);
  }
  const auto goes_on = [last_word](const RankView& rank) {
    return !rank.batch->final && !rank.batch->steps.empty() &&
           rank.batch->steps.back().id > last_word;
  };
  return last_word >= 0 && std::ranges::any_of(view.ranks(), goes_on);
}

// The caveat of a window that could not wait for everybody.
std::string WhatHadNotCome(const CrossRankView& view) {
  std::set<CommId> communicators;
  for (const RankView& rank : view.ranks())
    communicators.insert(rank.batch->communicators.begin(), rank.batch->communicators.end());
  return fmt::format(
      "The window was diagnosed early, as diagnose.memory_mib was full: {} of {} ranks and the "
      "collectives of {} of {} communicators had come.",
      view.ranks().size(), view.world_size(), view.summaries().size(),
      std::max(communicators.size(), view.summaries().size()));
}

// Of how many communicators the collectives of a rank that has reported were not there when its
// window was closed in align.
size_t ComparedWithoutAll(const CrossRankView& view) {
  std::set<std::pair<RankId, CommId>> missing;
  for (const CollectiveSummary& summary : view.summaries()) {
    for (const RankId rank : summary.missing) missing.emplace(rank, summary.communicator);
  }
  std::set<CommId> lacking;
  for (const RankView& rank : view.ranks()) {
    for (const CommId communicator : rank.batch->communicators) {
      if (!rank.silent && missing.contains({rank.rank, communicator})) lacking.insert(communicator);
    }
  }
  return lacking.size();
}

// What was said of a part is worth less, and says so.
void LowerByWhatIsMissing(const CrossRankView& view, bool early, std::vector<Finding>* findings) {
  const size_t without_all = ComparedWithoutAll(view);
  for (Finding& finding : *findings) {
    if (early) {
      finding.caveats.push_back(WhatHadNotCome(view));
      finding.confidence *= static_cast<double>(view.ranks().size()) /
                            static_cast<double>(std::max<uint32_t>(view.world_size(), 1));
    }
    if (without_all > 0)
      finding.caveats.push_back(fmt::format(
          "In {} of {} communicators the collectives of some ranks came after they were compared: "
          "who waited for whom is not known there.",
          without_all, view.summaries().size()));
  }
}

}  // namespace

DiagnoseProcessor::DiagnoseProcessor(DiagnoseOptions options)
    : options_(std::move(options)),
      root_cause_(DefaultOperators()),
      ages_(options_.jobs),
      memory_(options_.memory) {}

absl::Status DiagnoseProcessor::Init(ProcessorContext& context) {
  context_ = &context;
  bool readable = true;
  const absl::Status scanned =
      context.store().Scan(Table::kProgress, "", [&](std::string_view key, std::string_view value) {
        const std::optional<ProgressKey> row = DecodeProgressKey(key);
        readable = row.has_value();
        if (readable) ages_.Restore(row->job);
        if (readable && row->family == ProgressFamily::kAge)
          readable = ages_.RestoreRow(row->job, value);
        return readable;
      });
  if (!readable)
    return absl::DataLossError("diagnose: the state store has a row that is not its own");
  if (!scanned.ok() || options_.board == nullptr) return scanned;
  shown_ = std::make_unique<JobBoard::Share>(*options_.board);
  return context.store().Scan(Table::kJobs, "", [&](std::string_view key, std::string_view value) {
    const std::optional<JobId> job = DecodeJobKey(key);
    std::optional<WindowSummary> newest = DecodeJobRow(value);
    if (job && newest) shown_->Restore(*job, *std::move(newest));
    return true;
  });
}

absl::StatusOr<DiagnosedJob*> DiagnoseProcessor::FindJob(const JobId& id) {
  const auto known = jobs_.find(id);
  if (known != jobs_.end()) return known->second.get();
  absl::StatusOr<std::unique_ptr<DiagnosedJob>> job = LoadJob(context_->store(), id);
  if (!job.ok()) return job.status();
  return jobs_.emplace(id, *std::move(job)).first->second.get();
}

absl::Status DiagnoseProcessor::HearOfRuns(const JobId& id, DiagnosedJob& job,
                                           uint64_t newest_before) {
  if (job.windows.runs().newest_run() == newest_before) return absl::OkStatus();
  ++probe_.runs_begun;
  job.hangs = HangWatch();
  ForgetFailure(id, context_->changes());
  return ForgetStalledSteps(id, *context_);
}

void DiagnoseProcessor::Count(const JobId& id, int64_t offset, JobWindows::Added added) {
  ages_.Hear(id, offset, added == JobWindows::Added::kAdded);
  if (added == JobWindows::Added::kDuplicate) ++probe_.duplicates;
  if (added == JobWindows::Added::kClosed) ++probe_.for_closed_windows;
}

absl::Status DiagnoseProcessor::DeadLetter(DropReason reason) {
  ++probe_.dead_lettered;
  context_->DeadLetter(reason);
  return absl::OkStatus();
}

template <typename T>
absl::Status DiagnoseProcessor::DecodeAndAdd(const ConsumerRecord& record) {
  T payload;
  if (const DropReason reason = decoder_.Decode(record.payload(), &payload);
      reason != DropReason::kNone)
    return DeadLetter(reason);
  BoundTimes(&payload);
  return Add(std::move(payload), record);
}

absl::Status DiagnoseProcessor::Process(const ConsumerRecord& record) {
  next_offset_ = record.offset + 1;
  const absl::Status status = ProcessPayload(record);
  return status.ok() ? ForgetJobs() : status;
}

absl::Status DiagnoseProcessor::ProcessPayload(const ConsumerRecord& record) {
  switch (TypeOf(record.payload())) {
    case PayloadType::kPatternBatch: return DecodeAndAdd<PatternBatch>(record);
    case PayloadType::kCollectiveSummary: return DecodeAndAdd<CollectiveSummary>(record);
    case PayloadType::kRankStanding: return DecodeAndAdd<RankStanding>(record);
    default: return DeadLetter(DropReason::kWrongIdentifier);
  }
}

absl::Status DiagnoseProcessor::Add(PatternBatch batch, const ConsumerRecord& record) {
  ++probe_.patterns_received;
  const JobId id = batch.job;
  const absl::StatusOr<DiagnosedJob*> job = FindJob(id);
  if (!job.ok()) return job.status();
  JobWindows& windows = (*job)->windows;
  const uint64_t newest_run = windows.runs().newest_run();
  const uint64_t events = batch.completeness.events;
  if (!batch.silent && !(*job)->contests[batch.rank].Accepts(
                           {batch.host, batch.pid}, batch.window.start_ns, batch.window.end_ns)) {
    Count(id, record.offset, JobWindows::Added::kDuplicate);
    context_->CountUnused(DropReason::kDuplicate, events);
    return absl::OkStatus();
  }
  const bool is_late = !windows.Number(batch.rank, &batch.window);
  if (absl::Status status = HearOfRuns(id, **job, newest_run); !status.ok()) return status;
  if (is_late) {
    Count(id, record.offset, JobWindows::Added::kClosed);
    context_->CountUnused(DropReason::kLate, events);
    return absl::OkStatus();
  }
  if (windows.IsInNewestRun(batch.rank)) (*job)->hangs.Hear(batch);
  const WindowId window{batch.window.kind, batch.window.index};
  const RankId rank = batch.rank;
  const bool packs = Packs();
  if (packs) batch = OutlineOf(batch);
  const JobWindows::Added added = windows.Add(std::move(batch), record.offset, record.timestamp_ms);
  const bool waits_packed = packs && added == JobWindows::Added::kAdded;
  uint64_t bytes = record.value.size() * kBytesOfPayloadByte;
  if (waits_packed) {
    const PackedPayload& packed = (*job)->packed[window].batches[rank] =
        Pack(record.value, &(*job)->first_batch);
    bytes = packed.bytes.size() + sizeof(packed) + sizeof(PatternBatch);
  }
  Count(id, record.offset, added);
  if (added == JobWindows::Added::kClosed) context_->CountUnused(DropReason::kLate, events);
  if (added == JobWindows::Added::kDuplicate) context_->CountUnused(DropReason::kDuplicate, events);
  CloseComplete(id, **job);
  KeepWithinMemory(**job, window, bytes);
  return absl::OkStatus();
}

PackedPayload DiagnoseProcessor::Pack(const std::string& payload, std::string* first) {
  if (first->empty()) *first = payload;
  return packer_.Pack(payload, *first);
}

// It decoded as it came. Where there is no memory to do so again, the place is missing in the
// window.
template <typename Key, typename T>
void DiagnoseProcessor::Unpack(WindowId id, const std::map<Key, PackedPayload>& packed,
                               std::string_view first, std::map<Key, T>* outlines) {
  for (const auto& [key, payload] : packed) {
    T& whole = outlines->at(key);
    const std::string_view bytes = packer_.Unpack(payload, first);
    if (decoder_.Decode(std::as_bytes(std::span(bytes)), &whole) != DropReason::kNone) {
      outlines->erase(key);
      continue;
    }
    BoundTimes(&whole);
    whole.window.index = id.second;
  }
}

absl::Status DiagnoseProcessor::Add(CollectiveSummary summary, const ConsumerRecord& record) {
  ++probe_.summaries_received;
  const JobId id = summary.job;
  const absl::StatusOr<DiagnosedJob*> job = FindJob(id);
  if (!job.ok()) return job.status();
  JobWindows& windows = (*job)->windows;
  if (!windows.Number(summary.communicator, &summary.window)) {
    Count(id, record.offset, JobWindows::Added::kClosed);
    return absl::OkStatus();
  }
  const WindowId window{summary.window.kind, summary.window.index};
  const uint64_t operations = summary.operations;
  const CommId communicator = summary.communicator;
  const bool packs = Packs();
  if (packs) summary = OutlineOf(summary);
  const JobWindows::Added added =
      windows.Add(std::move(summary), record.offset, record.timestamp_ms);
  uint64_t bytes = record.value.size() * kBytesOfPayloadByte;
  if (packs && added == JobWindows::Added::kAdded) {
    const PackedPayload& packed = (*job)->packed[window].summaries[communicator] =
        Pack(record.value, &(*job)->first_summary);
    bytes = packed.bytes.size() + sizeof(packed) + sizeof(CollectiveSummary);
  }
  Count(id, record.offset, added);
  if (added == JobWindows::Added::kClosed) context_->CountUnused(DropReason::kLate, operations);
  CloseComplete(id, **job);
  KeepWithinMemory(**job, window, bytes);
  return absl::OkStatus();
}

void DiagnoseProcessor::DiagnoseOldest(const JobId& id, DiagnosedJob& job, WindowEnd end) {
  const WindowId oldest = *job.windows.Oldest();
  const bool complete = job.windows.OldestComplete() == oldest;
  if (!complete) ++probe_.windows_incomplete;
  if (!complete && end == WindowEnd::kMemoryFull) context_->CountForced(1);
  Diagnose(id, job, oldest, complete ? WindowEnd::kComplete : end);
}

void DiagnoseProcessor::KeepWithinMemory(DiagnosedJob& job, WindowId window, uint64_t bytes) {
  if (!job.windows.IsOpen(window)) return;  // complete by now, or long closed
  job.window_bytes[window] += bytes;
  job.bytes += bytes;
  bytes_ += bytes;
  memory_.Set(bytes_);
  while (memory_.MustLetGo()) {
    const auto largest =
        std::ranges::max_element(jobs_, {}, [](const auto& entry) { return entry.second->bytes; });
    if (largest->second->windows.open() == 0) return;
    DiagnoseOldest(largest->first, *largest->second, WindowEnd::kMemoryFull);
  }
}

void DiagnoseProcessor::CloseComplete(const JobId& id, DiagnosedJob& job) {
  while (const std::optional<WindowId> complete = job.windows.OldestComplete())
    Diagnose(id, job, *complete, WindowEnd::kComplete);
}

absl::Status DiagnoseProcessor::ForgetJobs() {
  ages_.Keep(context_->changes());
  if (!ages_.may_be_over()) return absl::OkStatus();
  for (const JobId& id : ages_.TakeOver(RestartOffset(next_offset_))) {
    jobs_.erase(id);
    context_->changes().Delete(Table::kJobs, EncodeKey(id));
    if (shown_ != nullptr) shown_->Forget(id);
    ++probe_.jobs_forgotten;
    if (absl::Status status = ForgetJob(id, *context_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Findings that are still open are published again
// with each window.
absl::Status DiagnoseProcessor::ExpireFindings() {
  if (!options_.wall_clock_ns) return absl::OkStatus();
  const int64_t before_ns = options_.wall_clock_ns() - options_.findings_retention_ns;
  return context_->store().Scan(
      Table::kFindings, "", [&](std::string_view key, std::string_view value) {
        Finding finding;
        const bool readable =
            decoder_.Decode(std::as_bytes(std::span(value)), &finding) == DropReason::kNone;
        if (readable && (finding.emitted_at_ns >= before_ns || ages_.knows(finding.job)))
          return true;
        context_->changes().Delete(Table::kFindings, std::string(key));
        ++probe_.findings_expired;
        return true;
      });
}

absl::Status DiagnoseProcessor::Punctuate(PunctuationType type) {
  if (type == PunctuationType::kMinute) {
    ages_.Tick();
    const absl::Status status = ForgetJobs();
    return status.ok() && ++minutes_ % kMinutesPerHour == 0 ? ExpireFindings() : status;
  }
  for (auto& [id, job] : jobs_) {
    DiagnoseHangs(id, *job, true);
    while (job->windows.open() > 0) DiagnoseOldest(id, *job, WindowEnd::kNothingComes);
  }
  ages_.Keep(context_->changes());
  return absl::OkStatus();
}

void DiagnoseProcessor::Diagnose(const JobId& id, DiagnosedJob& job, WindowId window_id,
                                 WindowEnd end) {
  if (job.windows.BeginsRun(window_id)) ForgetRunBefore(id, job, context_->changes());
  JobWindow window = job.windows.Close(window_id);
  if (const auto packed = job.packed.extract(window_id)) {
    Unpack(window_id, packed.mapped().batches, job.first_batch, &window.batches);
    Unpack(window_id, packed.mapped().summaries, job.first_summary, &window.summaries);
  }
  if (const auto held = job.window_bytes.extract(window_id)) {
    job.bytes -= held.mapped();
    bytes_ -= held.mapped();
    memory_.Set(bytes_);
  }
  KeepClosedWindow(id, window_id, context_->changes());
  if (window_id.first == WindowKind::kSteps) KeepRuns(id, job.windows.runs(), context_->changes());
  // summaries alone: their ranks' patterns were dead-lettered or are lost
  if (window.batches.empty()) return;
  std::vector<PatternBatch> batches;
  for (auto& [rank, batch] : window.batches) batches.push_back(std::move(batch));
  std::vector<CollectiveSummary> summaries;
  for (auto& [communicator, summary] : window.summaries) summaries.push_back(std::move(summary));
  const SuppressedSteps suppressed = SuppressSteps(batches);
  probe_.suppressed.Add(suppressed);
  const CrossRankView view(batches, summaries, job.history.Past(window_id.first));
  ++probe_.windows_diagnosed;
  if (IsBeforeSteps(view)) {
    if (!job.windows.HasClosedSteps())
      Show(id, view, SummarizeWindow(view, suppressed, window.timestamp_ms));
    if (IsLastOfJob(view) && !job.windows.Oldest()) ages_.End(id);
    return;
  }
  std::vector<Finding> findings = FindingsOf(id, view, job);
  LowerByWhatIsMissing(view, end == WindowEnd::kMemoryFull, &findings);
  if (suppressed.all() > 0) {
    for (Finding& finding : findings)
      finding.caveats.push_back(
          fmt::format("Steps of this window that do not count: {}.", suppressed.Text()));
  }
  std::vector<Finding> changed =
      job.lifecycle.Observe(window_id.second, std::move(findings), IsLastOfJob(view));
  std::vector<std::string> finding_ids;
  for (Finding& finding : changed) {
    finding_ids.push_back(finding.id);
    Publish(std::move(finding), window.timestamp_ms);
  }
  KeepLedger(id, job.lifecycle, context_->changes());
  if (const DropReason reason = job.history.Remember(id, view, context_->changes());
      reason != DropReason::kNone) {
    context_->DropOutput(reason);
    ++probe_.outputs_dropped;
  }
  WindowSummary summary = SummarizeWindow(view, suppressed, window.timestamp_ms);
  summary.contested = ContestedRanksOf(job, view);
  summary.finding_ids = std::move(finding_ids);
  summary.early = end == WindowEnd::kMemoryFull;
  Show(id, view, std::move(summary));
  if (IsLastOfJob(view) && !job.windows.Oldest()) ages_.End(id);
}

void DiagnoseProcessor::Show(const JobId& id, const CrossRankView& view, WindowSummary summary) {
  context_->changes().Put(Table::kJobs, EncodeKey(id), EncodeJobRow(summary));
  if (shown_ == nullptr) return;
  shown_->Publish(id, TakeSnapshot(view, std::move(summary), {.fold_below = options_.fold_below}),
                  options_.wall_clock_ns ? options_.wall_clock_ns() : 0);
}

std::vector<Finding> DiagnoseProcessor::FindingsOf(const JobId& id, const CrossRankView& view,
                                                   DiagnosedJob& job) {
  std::vector<Finding> findings;
  if (!ChangesSize(view, job.history.Past(view.window_kind()).times))
    findings = root_cause_.Diagnose(view);
  if (std::optional<Finding> gap = job.gaps.Observe(view)) {
    gap->id = FindingId(*gap);
    findings.push_back(*std::move(gap));
  }
  KeepTelemetryGaps(id, job.gaps, context_->changes());
  for (Finding& stopped : FindStoppedCaptures(view)) {
    for (Finding& finding : findings) finding.caveats.push_back(stopped.title);
    stopped.id = FindingId(stopped);
    findings.push_back(std::move(stopped));
  }
  return findings;
}

void DiagnoseProcessor::Publish(Finding finding, int64_t timestamp_ms) {
  if (options_.wall_clock_ns) finding.emitted_at_ns = options_.wall_clock_ns();
  finding.replay_id = options_.replay_id;
  const std::optional<Bytes> payload = EncodeOutput(finding, encoder_, *context_);
  if (!payload) {
    ++probe_.outputs_dropped;
    return;
  }
  std::string bytes(reinterpret_cast<const char*>(payload->data()), payload->size());
  context_->changes().Put(Table::kFindings,
                          EncodeKey(FindingKey{.job = finding.job, .finding = finding.id}), bytes);
  ForwardFinding(finding, std::move(bytes), FindingFormat::kFlatBuffers, timestamp_ms);
  if (options_.json_topic)
    ForwardFinding(finding, ToJson(finding), FindingFormat::kJson, timestamp_ms);
  ++probe_.findings_published;
  if (options_.on_published) options_.on_published(finding);
}

void DiagnoseProcessor::ForwardFinding(const Finding& finding, std::string payload,
                                       FindingFormat format, int64_t timestamp_ms) {
  const bool is_json = format == FindingFormat::kJson;
  EventRecord event{.topic = is_json ? Topic::kFindingsJson : Topic::kFindings,
                    .key = JobKey(finding.job),
                    .value = std::move(payload),
                    .headers = FindingEventHeaders(finding, format, options_.event_source),
                    .timestamp_ms = timestamp_ms};
  if (!is_json) event.headers.emplace_back(kHeaderSchema, SchemaId(PayloadType::kFinding));
  event.headers.emplace_back(kHeaderJob, finding.job.value);
  context_->ForwardEvent(std::move(event));
}

int64_t DiagnoseProcessor::RestartOffset(int64_t next) const {
  int64_t restart = next;
  for (const auto& [id, job] : jobs_) {
    restart = std::min(restart, job->windows.FirstOffset().value_or(next));
    restart = std::min(restart, job->hangs.FirstOffset().value_or(next));
  }
  return restart;
}

}  // namespace eroica
