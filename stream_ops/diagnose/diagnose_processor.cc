#include "stream_ops/diagnose/diagnose_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "diagnosis/bounded_times.h"
#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/lasting_excess.h"
#include "schemas/check.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

std::string ProgressKey(const JobId& job, WindowKind kind) {
  return EncodeKey(WindowKey{.job = job, .kind = kind, .index = 0});
}

// Profiles go round through so many keys; index 0 is that of ProgressKey.
std::string ProfileKey(const JobId& job, WindowId window) {
  constexpr auto kSlots = static_cast<int64_t>(kProfilesKept);
  return EncodeKey(WindowKey{
      .job = job, .kind = window.first, .index = 1 + (window.second % kSlots + kSlots) % kSlots});
}

// Followed by the step of the standstill. Window keys begin with their kind, so none of them begins
// so.
std::string StandstillPrefix(const JobId& job) { return "standstill/" + EncodeKey(job); }

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Of what ranks took in a window, before the key of its profile. Window keys begin with their kind.
const std::string kTimesPrefix = "times/";
const std::string kWorkPrefix = "work/";
const std::string kBytesPrefix = "bytes/";

std::string GapsKey(const JobId& job) { return "gaps/" + EncodeKey(job); }
std::string ClaimsKey(const JobId& job) { return "claims/" + EncodeKey(job); }

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

// To the newest windows of one kind, of which so many are kept.
template <typename T>
void Append(const T& window, size_t most, std::vector<T>& windows) {
  if (!windows.empty() && windows.back().window.kind != window.window.kind) windows.clear();
  windows.push_back(window);
  if (windows.size() > most) windows.erase(windows.begin());
}

// What the jobs table says of a job: for people and REST, not read back.
std::string DescribeJob(const CrossRankView& view, const SuppressedSteps& suppressed) {
  return fmt::format(
      R"({{"world_size":{},"ranks_seen":{},"roles":{},"window_kind":"{}","last_window":{},"suppressed_steps":{}}})",
      view.world_size(), view.ranks().size(), view.role_count(),
      view.window_kind() == WindowKind::kSteps ? "steps" : "time", view.window_index(),
      suppressed.all());
}

}  // namespace

DiagnoseProcessor::DiagnoseProcessor(DiagnoseOptions options)
    : options_(std::move(options)), root_cause_(DefaultOperators()) {}

absl::Status DiagnoseProcessor::Init(ProcessorContext& context) {
  context_ = &context;
  return absl::OkStatus();
}

absl::StatusOr<DiagnoseProcessor::Job*> DiagnoseProcessor::FindJob(const JobId& id) {
  const auto [it, fresh] = jobs_.try_emplace(id);
  Job* job = &it->second;
  if (!fresh) return job;
  if (absl::Status status = LoadWindows(id, job); !status.ok()) return status;
  if (absl::Status status = LoadStandstills(id, job); !status.ok()) return status;
  if (absl::Status status = LoadFindings(id, job); !status.ok()) return status;
  if (absl::Status status = LoadMemory(id, job); !status.ok()) return status;
  return job;
}

absl::Status DiagnoseProcessor::LoadWindows(const JobId& id, Job* job) {
  for (const WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
    const auto stored = context_->store().Get(Table::kProgress, ProgressKey(id, kind));
    if (!stored.ok()) return stored.status();
    if (!stored->has_value()) continue;
    const std::optional<int64_t> index = ParseNumber(**stored);
    if (!index)
      return absl::DataLossError(fmt::format(
          "progress of job {} in the state store is no number: {}", id.value, **stored));
    job->windows.RestoreClosed({kind, *index});
    if (absl::Status status = LoadHistory(id, kind, *job); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::LoadStandstills(const JobId& id, Job* job) const {
  absl::Status status;
  const std::string prefix = StandstillPrefix(id);
  const absl::Status scanned = context_->store().Scan(
      Table::kProgress, prefix, [&](std::string_view key, std::string_view value) {
        const std::optional<int64_t> step = ParseNumber(key.substr(prefix.size()));
        const std::optional<int64_t> level = ParseNumber(value);
        if (!step || !level)
          status = absl::DataLossError(
              fmt::format("standstills of job {} in the state store are no numbers", id.value));
        if (status.ok()) job->hangs.RestoreLookedAt(*step, static_cast<int>(*level));
        return status.ok();
      });
  return scanned.ok() ? status : scanned;
}

absl::Status DiagnoseProcessor::LoadFindings(const JobId& id, Job* job) {
  return context_->store().Scan(
      Table::kFindings, EncodeKey(id), [&](std::string_view, std::string_view value) {
        Finding finding;
        if (decoder_.Decode(std::as_bytes(std::span(value.data(), value.size())), &finding) ==
            DropReason::kNone) {
          job->lifecycle.Restore(std::move(finding));
        }
        return true;
      });
}

absl::Status DiagnoseProcessor::LoadMemory(const JobId& id, Job* job) const {
  const auto gaps = context_->store().Get(Table::kProgress, GapsKey(id));
  if (!gaps.ok()) return gaps.status();
  const auto claims = context_->store().Get(Table::kProgress, ClaimsKey(id));
  if (!claims.ok()) return claims.status();
  const bool readable = (!gaps->has_value() || job->gaps.Restore(**gaps)) &&
                        (!claims->has_value() || job->lifecycle.memory().Restore(**claims));
  if (!readable)
    return absl::DataLossError(
        fmt::format("what is remembered of job {} in the state store cannot be read", id.value));
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::LoadHistory(const JobId& id, WindowKind kind, Job& job) {
  if (absl::Status status = LoadSlots("", id, kind, &job.history); !status.ok()) return status;
  if (absl::Status status = LoadTimes(kTimesPrefix, id, kind, &job.rank_times); !status.ok())
    return status;
  if (absl::Status status = LoadTimes(kWorkPrefix, id, kind, &job.work_times); !status.ok())
    return status;
  return LoadTimes(kBytesPrefix, id, kind, &job.exchanged);
}

absl::Status DiagnoseProcessor::LoadTimes(const std::string& prefix, const JobId& id,
                                          WindowKind kind, std::vector<RankTimes>* windows) {
  std::vector<PatternBatch> records;
  if (absl::Status status = LoadSlots(prefix, id, kind, &records); !status.ok()) return status;
  windows->clear();
  std::ranges::transform(records, std::back_inserter(*windows), RankTimesIn);
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::LoadSlots(const std::string& prefix, const JobId& id,
                                          WindowKind kind, std::vector<PatternBatch>* windows) {
  windows->clear();
  for (int64_t slot = 0; slot < static_cast<int64_t>(kProfilesKept); ++slot) {
    const auto stored =
        context_->store().Get(Table::kProgress, prefix + ProfileKey(id, {kind, slot}));
    if (!stored.ok()) return stored.status();
    PatternBatch window;
    if (!stored->has_value()) continue;
    const std::string& value = **stored;
    if (decoder_.Decode(std::as_bytes(std::span(value.data(), value.size())), &window) ==
        DropReason::kNone)
      windows->push_back(window);
  }
  std::sort(windows->begin(), windows->end(),
            [](const auto& a, const auto& b) { return a.window.index < b.window.index; });
  return absl::OkStatus();
}

void DiagnoseProcessor::Remember(const JobId& id, WindowId window_id, const CrossRankView& view,
                                 Job& job) {
  if (view.profile().steps.empty()) return;
  Store(ProfileKey(id, window_id), view.profile());
  Append(view.profile(), kProfilesKept, job.history);
  Keep(kTimesPrefix + ProfileKey(id, window_id), view.rank_times(), id, job.rank_times);
  Keep(kWorkPrefix + ProfileKey(id, window_id), view.work_times(), id, job.work_times);
  Keep(kBytesPrefix + ProfileKey(id, window_id), view.exchanged(), id, job.exchanged);
}

void DiagnoseProcessor::Keep(const std::string& key, const RankTimes& window, const JobId& id,
                             std::vector<RankTimes>& windows) {
  // The looks of larger jobs begin anew after a restart.
  if (window.rows.size() <= CodecLimits::kPatterns) Store(key, RecordOf(window, id));
  Append(window, kRankTimesKept, windows);
}

void DiagnoseProcessor::Store(const std::string& key, const PatternBatch& window) {
  if (std::optional<std::string> payload = Encode(window))
    context_->changes().Put(Table::kProgress, key, *std::move(payload));
}

template <typename T>
std::optional<std::string> DiagnoseProcessor::Encode(const T& output) {
  const std::optional<Bytes> payload = EncodeOutput(output, encoder_, *context_);
  if (payload) return std::string(reinterpret_cast<const char*>(payload->data()), payload->size());
  ++probe_.outputs_dropped;
  return std::nullopt;
}

void DiagnoseProcessor::Count(JobWindows::Added added) {
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
  const absl::StatusOr<Job*> job = FindJob(id);
  if (!job.ok()) return job.status();
  (*job)->hangs.Hear(batch);
  Count((*job)->windows.Add(std::move(batch), record.offset, record.timestamp_ms));
  return CloseComplete(id, **job);
}

absl::Status DiagnoseProcessor::Add(CollectiveSummary summary, const ConsumerRecord& record) {
  ++probe_.summaries_received;
  const JobId id = summary.job;
  const absl::StatusOr<Job*> job = FindJob(id);
  if (!job.ok()) return job.status();
  Count((*job)->windows.Add(std::move(summary), record.offset, record.timestamp_ms));
  return CloseComplete(id, **job);
}

absl::Status DiagnoseProcessor::Add(RankStanding standing, const ConsumerRecord& record) {
  ++probe_.standings_received;
  const JobId id = standing.job;
  const absl::StatusOr<Job*> job = FindJob(id);
  if (!job.ok()) return job.status();
  (*job)->hangs.Add(std::move(standing), record.offset);
  DiagnoseHangs(id, **job, false);
  return absl::OkStatus();
}

void DiagnoseProcessor::DiagnoseHangs(const JobId& id, Job& job, bool end) {
  while (const std::optional<HangWatch::Due> due = job.hangs.TakeDue(end)) {
    ++probe_.standstills_diagnosed;
    int64_t latest_ns = 0;
    for (const RankStanding& standing : due->standings)
      latest_ns = std::max(latest_ns, standing.time_ns);
    for (Finding& finding : hang_operator_.Evaluate(due->view))
      Publish(job.lifecycle.Report(std::move(finding)), latest_ns / kNsPerMs);
    context_->changes().Put(Table::kProgress, StandstillPrefix(id) + std::to_string(due->step),
                            std::to_string(due->level));
  }
}

absl::Status DiagnoseProcessor::CloseComplete(const JobId& id, Job& job) {
  while (const std::optional<WindowId> complete = job.windows.OldestComplete()) {
    if (const absl::Status status = Diagnose(id, job, *complete); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::Punctuate(PunctuationType) {
  for (auto& [id, job] : jobs_) {
    DiagnoseHangs(id, job, true);
    while (const std::optional<WindowId> oldest = job.windows.Oldest()) {
      if (job.windows.OldestComplete() != oldest) ++probe_.windows_incomplete;
      if (const absl::Status status = Diagnose(id, job, *oldest); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status DiagnoseProcessor::Diagnose(const JobId& id, Job& job, WindowId window_id) {
  JobWindow window = job.windows.Close(window_id);
  context_->changes().Put(Table::kProgress, ProgressKey(id, window_id.first),
                          std::to_string(window_id.second));
  if (window.batches.empty())
    // summaries alone: their ranks' patterns were dead-lettered or are lost
    return absl::OkStatus();
  std::vector<PatternBatch> batches;
  for (auto& [rank, batch] : window.batches) batches.push_back(std::move(batch));
  std::vector<CollectiveSummary> summaries;
  for (auto& [communicator, summary] : window.summaries) summaries.push_back(std::move(summary));
  const SuppressedSteps suppressed = SuppressSteps(batches);
  probe_.suppressed.Add(suppressed);
  const PastWindows past{.profiles = job.history,
                         .times = job.rank_times,
                         .work = job.work_times,
                         .bytes = job.exchanged};
  const CrossRankView view(batches, summaries, past);
  ++probe_.windows_diagnosed;
  std::vector<Finding> findings = FindingsOf(id, view, job);
  if (suppressed.all() > 0) {
    for (Finding& finding : findings)
      finding.caveats.push_back(
          fmt::format("Steps of this window that do not count: {}.", suppressed.Text()));
  }
  std::vector<Finding> changed =
      job.lifecycle.Observe(window_id.second, std::move(findings), IsLastOfJob(view));
  for (Finding& finding : changed) Publish(std::move(finding), window.timestamp_ms);
  context_->changes().Put(Table::kProgress, ClaimsKey(id), job.lifecycle.memory().Encode());
  Remember(id, window_id, view, job);
  context_->changes().Put(Table::kJobs, EncodeKey(id), DescribeJob(view, suppressed));
  return absl::OkStatus();
}

std::vector<Finding> DiagnoseProcessor::FindingsOf(const JobId& id, const CrossRankView& view,
                                                   Job& job) {
  std::vector<Finding> findings;
  if (!ChangesSize(view, job.rank_times)) findings = root_cause_.Diagnose(view);
  if (std::optional<Finding> gap = job.gaps.Observe(view)) {
    gap->id = FindingId(*gap);
    findings.push_back(*std::move(gap));
  }
  context_->changes().Put(Table::kProgress, GapsKey(id), job.gaps.Encode());
  return findings;
}

void DiagnoseProcessor::Publish(Finding finding, int64_t timestamp_ms) {
  if (options_.wall_clock_ns) finding.emitted_at_ns = options_.wall_clock_ns();
  std::optional<std::string> payload = Encode(finding);
  if (!payload) return;
  context_->Forward(Topic::kFindings, JobKey(finding.job), PayloadType::kFinding,
                    std::as_bytes(std::span(*payload)), timestamp_ms, finding.job);
  std::string key = EncodeKey(FindingKey{.job = finding.job, .finding = finding.id});
  context_->changes().Put(Table::kFindings, std::move(key), *std::move(payload));
  ++probe_.findings_published;
}

int64_t DiagnoseProcessor::RestartOffset(int64_t next) const {
  int64_t restart = next;
  for (const auto& [id, job] : jobs_) {
    restart = std::min(restart, job.windows.FirstOffset().value_or(next));
    restart = std::min(restart, job.hangs.FirstOffset().value_or(next));
  }
  return restart;
}

}  // namespace eroica
