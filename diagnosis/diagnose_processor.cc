#include "diagnosis/diagnose_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "diagnosis/job_profile.h"
#include "schemas/check.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

std::string ProgressKey(const JobId& job, WindowKind kind) { return EncodeKey(WindowKey{.job = job, .kind = kind, .index = 0}); }

// Profiles go round through so many keys; index 0 is that of ProgressKey.
std::string ProfileKey(const JobId& job, WindowId window) {
  constexpr auto kSlots = static_cast<int64_t>(kProfilesKept);
  return EncodeKey(WindowKey{.job = job, .kind = window.first, .index = 1 + (window.second % kSlots + kSlots) % kSlots});
}

// What the jobs table says of a job: for people and REST, not read back.
std::string DescribeJob(const CrossRankView& view) {
  return fmt::format(R"({{"world_size":{},"ranks_seen":{},"roles":{},"window_kind":"{}","last_window":{}}})", view.world_size(),
                     view.ranks().size(), view.role_count(), view.window_kind() == WindowKind::kSteps ? "steps" : "time",
                     view.window_index());
}

}  // namespace

DiagnoseProcessor::DiagnoseProcessor(DiagnoseOptions options) : options_(std::move(options)), root_cause_(DefaultOperators()) {}

absl::Status DiagnoseProcessor::Init(ProcessorContext& context) {
  context_ = &context;
  return absl::OkStatus();
}

absl::StatusOr<DiagnoseProcessor::Job*> DiagnoseProcessor::FindJob(const JobId& id) {
  const auto [it, fresh] = jobs_.try_emplace(id);
  if (!fresh) return &it->second;
  Job& job = it->second;
  for (const WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
    const auto stored = context_->store().Get(Table::kProgress, ProgressKey(id, kind));
    if (!stored.ok()) return stored.status();
    if (!stored->has_value()) continue;
    int64_t index = 0;
    const std::string& text = **stored;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc{} || end != text.data() + text.size()) {
      return absl::DataLossError(fmt::format("progress of job {} in the state store is no number: {}", id.value, text));
    }
    job.windows.RestoreClosed({kind, index});
    if (const absl::Status loaded = LoadHistory(id, kind, job); !loaded.ok()) return loaded;
  }
  const absl::Status scanned = context_->store().Scan(Table::kFindings, EncodeKey(id), [&](std::string_view, std::string_view value) {
    Finding finding;
    if (decoder_.Decode(std::as_bytes(std::span(value.data(), value.size())), &finding) == DropReason::kNone) {
      job.lifecycle.Restore(std::move(finding));
    }
    return true;
  });
  if (!scanned.ok()) return scanned;
  return &job;
}

absl::Status DiagnoseProcessor::LoadHistory(const JobId& id, WindowKind kind, Job& job) {
  job.history.clear();
  for (int64_t slot = 0; slot < static_cast<int64_t>(kProfilesKept); ++slot) {
    const auto stored = context_->store().Get(Table::kProgress, ProfileKey(id, {kind, slot}));
    if (!stored.ok()) return stored.status();
    PatternBatch profile;
    if (!stored->has_value()) continue;
    const std::string& value = **stored;
    if (decoder_.Decode(std::as_bytes(std::span(value.data(), value.size())), &profile) == DropReason::kNone)
      job.history.push_back(std::move(profile));
  }
  std::sort(job.history.begin(), job.history.end(), [](const auto& a, const auto& b) { return a.window.index < b.window.index; });
  return absl::OkStatus();
}

void DiagnoseProcessor::Remember(const JobId& id, WindowId window_id, const CrossRankView& view, Job& job) {
  PatternBatch profile = ProfileOf(view);
  if (profile.steps.empty()) return;
  if (!job.history.empty() && job.history.back().window.kind != window_id.first) job.history.clear();
  const Bytes payload = encoder_.Encode(profile);
  context_->changes().Put(Table::kProgress, ProfileKey(id, window_id),
                          std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
  job.history.push_back(std::move(profile));
  if (job.history.size() > kProfilesKept) job.history.erase(job.history.begin());
}

void DiagnoseProcessor::Count(JobWindows::Added added) {
  if (added == JobWindows::Added::kDuplicate) ++probe_.duplicates;
  if (added == JobWindows::Added::kClosed) ++probe_.for_closed_windows;
}

absl::Status DiagnoseProcessor::Process(const ConsumerRecord& record) {
  JobId job_id;
  const auto dead_letter = [this](DropReason reason) {
    ++probe_.dead_lettered;
    context_->DeadLetter(reason);
    return absl::OkStatus();
  };
  PatternBatch batch;
  CollectiveSummary summary;
  const PayloadType type = TypeOf(record.payload());
  if (type == PayloadType::kPatternBatch) {
    if (const DropReason reason = decoder_.Decode(record.payload(), &batch); reason != DropReason::kNone) return dead_letter(reason);
    ++probe_.patterns_received;
    job_id = batch.job;
  } else if (type == PayloadType::kCollectiveSummary) {
    if (const DropReason reason = decoder_.Decode(record.payload(), &summary); reason != DropReason::kNone) return dead_letter(reason);
    ++probe_.summaries_received;
    job_id = summary.job;
  } else if (type == PayloadType::kRankStanding) {
    ++probe_.standings_received;  // no operator looks at where ranks stand yet
    return absl::OkStatus();
  } else {
    return dead_letter(DropReason::kWrongIdentifier);
  }
  const absl::StatusOr<Job*> job = FindJob(job_id);
  if (!job.ok()) return job.status();
  if (type == PayloadType::kPatternBatch) {
    Count((*job)->windows.Add(std::move(batch), record.offset, record.timestamp_ms));
  } else {
    Count((*job)->windows.Add(std::move(summary), record.offset, record.timestamp_ms));
  }
  return CloseComplete(job_id, **job);
}

absl::Status DiagnoseProcessor::CloseComplete(const JobId& id, Job& job) {
  while (const std::optional<WindowId> complete = job.windows.OldestComplete()) {
    if (const absl::Status status = Diagnose(id, job, *complete); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::Punctuate(PunctuationType) {
  for (auto& [id, job] : jobs_) {
    while (const std::optional<WindowId> oldest = job.windows.Oldest()) {
      if (job.windows.OldestComplete() != oldest) ++probe_.windows_incomplete;
      if (const absl::Status status = Diagnose(id, job, *oldest); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::Diagnose(const JobId& id, Job& job, WindowId window_id) {
  JobWindow window = job.windows.Close(window_id);
  context_->changes().Put(Table::kProgress, ProgressKey(id, window_id.first), std::to_string(window_id.second));
  if (window.batches.empty()) return absl::OkStatus();  // summaries alone: their ranks' patterns were dead-lettered or are lost
  std::vector<PatternBatch> batches;
  for (auto& [rank, batch] : window.batches) batches.push_back(std::move(batch));
  std::vector<CollectiveSummary> summaries;
  for (auto& [communicator, summary] : window.summaries) summaries.push_back(std::move(summary));
  const CrossRankView view(batches, summaries, job.history);
  ++probe_.windows_diagnosed;
  for (Finding& finding : job.lifecycle.Observe(window_id.second, root_cause_.Diagnose(view)))
    Publish(std::move(finding), window.timestamp_ms);
  Remember(id, window_id, view, job);
  context_->changes().Put(Table::kJobs, EncodeKey(id), DescribeJob(view));
  return absl::OkStatus();
}

void DiagnoseProcessor::Publish(Finding finding, int64_t timestamp_ms) {
  if (options_.wall_clock_ns) finding.emitted_at_ns = options_.wall_clock_ns();
  const Bytes payload = encoder_.Encode(finding);
  const std::string value(reinterpret_cast<const char*>(payload.data()), payload.size());
  const std::string key = EncodeKey(FindingKey{.job = finding.job, .finding = finding.id});
  context_->changes().Put(Table::kFindings, key, value);
  context_->Forward(Topic::kFindings, JobKey(finding.job), PayloadType::kFinding, payload, timestamp_ms, finding.job);
  ++probe_.findings_published;
}

int64_t DiagnoseProcessor::RestartOffset(int64_t next) const {
  int64_t restart = next;
  for (const auto& [id, job] : jobs_) restart = std::min(restart, job.windows.FirstOffset().value_or(next));
  return restart;
}

}  // namespace eroica
