#include "ops/cli/known_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/signal_text.h"
#include "ops/cli/time_text.h"
#include "ops/config/nearest_name.h"
#include "schemas/printable_text.h"
#include "state_store/key_schema.h"
#include "stream_ops/diagnose/job_row.h"
#include "stream_ops/runtime/changelog.h"

namespace eroica {
namespace {

// A value of Table::kJobs. What cannot be read is a job of which no more is known.
KnownJob ParseJob(std::string_view value) {
  const std::optional<WindowSummary> newest = DecodeJobRow(value);
  if (!newest) return {};
  return {.last_window = newest->index,
          .of_steps = newest->kind == WindowKind::kSteps,
          .end_ns = newest->end_ns,
          .watermark_ms = newest->timestamp_ms,
          .world_size = newest->world_size,
          .ranks_seen = newest->ranks_seen,
          .step_ns = newest->median_step_ns,
          .ended = newest->last_of_job,
          .contested = newest->contested};
}

// A row of a stage; value: nothing where it was deleted.
void AddRow(Table table, std::string_view key, std::optional<std::string_view> value,
            KnownJobs* known) {
  if (table == Table::kProgress) {
    const std::optional<ProgressKey> row = DecodeProgressKey(key);
    if (!row) return;
    if (value) known->jobs.try_emplace(row->job.value);
    const auto job = known->jobs.find(row->job.value);
    if (row->family == ProgressFamily::kFailure && job != known->jobs.end())
      job->second.failure = value ? DecodeFailureRow(*value) : std::nullopt;
    return;
  }
  if (table != Table::kJobs) return;
  const std::optional<JobId> job = DecodeJobKey(key);
  if (!job) return;
  if (value) {
    KnownJob& row = known->jobs[job->value];
    std::optional<UnexplainedFailure> failure = std::move(row.failure);
    row = ParseJob(*value);
    row.failure = std::move(failure);
  } else {
    known->jobs.erase(job->value);
  }
}

std::string WindowText(const KnownJob& job) {
  return job.diagnosed() ? fmt::format("to window {}", job.last_window)
                         : std::string("no window yet");
}

std::string ListText(const std::map<std::string, KnownJob>& jobs) {
  constexpr size_t kListed = 8;
  std::string text;
  size_t listed = 0;
  for (const auto& [name, job] : jobs) {
    if (listed++ == kListed) return text + fmt::format(" and {} more", jobs.size() - kListed);
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", Printable(name), WindowText(job));
  }
  return text;
}

std::string UnknownJobText(const KnownJobs& known, std::string_view job) {
  std::vector<std::string> names;
  for (const auto& [name, of_job] : known.jobs) names.push_back(name);
  const std::string nearest = NearestName(job, names);
  std::string text =
      fmt::format("No job '{}' is known{}", Printable(job),
                  nearest.empty() ? "." : "; did you mean '" + Printable(nearest) + "'?");
  text += known.jobs.empty() ? " No job is." : fmt::format(" Known: {}.", ListText(known.jobs));
  if (!known.is_whole) text += " There was no time to read of all of them: ask again.";
  return text;
}

std::string WindowReached(const KnownJob& job) {
  const std::string time = LocalTimeText(job.end_ns);
  return fmt::format("diagnosed to window {}{}{}, {} of {} ranks seen", job.last_window,
                     job.of_steps ? "" : " (of time)",
                     time.empty() ? "" : ", which ended at " + time, job.ranks_seen,
                     job.world_size);
}

std::string ResolvedText(size_t resolved) {
  return fmt::format("{} finding{} resolved", resolved, resolved == 1 ? " is" : "s are");
}

std::string Healthy(const NoFindingsQuestion& question, const std::string& of_job,
                    const std::string& reached) {
  if (question.resolved == 0) return fmt::format("Nothing found{}: {}.", of_job, reached);
  return fmt::format("No finding{} is open: {}; {}.", of_job, ResolvedText(question.resolved),
                     reached);
}

std::string CannotTell(const NoFindingsQuestion& question, const std::string& for_job,
                       bool is_whole) {
  const std::string_view why = is_whole ? "that does not suffice" : "the recording is not whole";
  if (question.resolved == 0)
    return fmt::format("Cannot tell{}: nothing stands out, and {}.", for_job, why);
  return fmt::format("Cannot tell{}: {}, nothing else stands out, and {}.", for_job,
                     ResolvedText(question.resolved), why);
}

std::vector<std::string> LostSentences(const KnownJobs& known) {
  constexpr size_t kSentencesMost = 4;
  std::vector<std::string> sentences;
  for (size_t i = 0; i < std::min(known.lost.size(), kSentencesMost); ++i)
    sentences.push_back(Printable(known.lost[i]) + ".");
  if (known.lost.size() > kSentencesMost) {
    sentences.push_back(
        fmt::format("{} more partitions have lost a part.", known.lost.size() - kSentencesMost));
  }
  return sentences;
}

std::string EndText(int32_t exit_code, int32_t signal) {
  if (exit_code >= 0) return fmt::format("with exit code {}", exit_code);
  return signal > 0 ? fmt::format("by {}", SignalText(signal)) : "with a failure";
}

std::string FailureText(const UnexplainedFailure& unexplained, uint32_t world_size) {
  const JobFailure& failure = unexplained.failure;
  const std::string job = EndText(failure.exit_code, failure.signal);
  if (failure.ranks == 0)
    return fmt::format(
        "The job ended {}, and no process of a rank is known to have failed: its standard error "
        "says why, if it knows.",
        job);
  const std::string ranks = failure.ranks >= world_size
                                ? std::string("All ranks")
                                : fmt::format("{} of {} ranks", failure.ranks, world_size);
  return fmt::format(
      "{} were ended by {} within {}, and the job ended {}: who sent it, and to which rank first, "
      "is not recorded. The launcher's log and the scheduler's may say so.",
      ranks, SignalText(unexplained.signal), DurationText(static_cast<double>(failure.within_ns)),
      job);
}

bool IsUndecided(const KnownJob& job) {
  if (job.failure) return true;
  if (job.gaps && job.gaps->undecided) return true;
  if (job.gaps) return job.diagnosed() && job.ranks_seen < job.world_size;
  return job.ranks_seen < job.world_size || !job.contested.empty();
}

// What was not recorded of it, as far as that leaves it undecided.
std::vector<std::string> MissingOf(const KnownJob& job) {
  if (job.gaps && (job.gaps->undecided || !IsUndecided(job))) return job.gaps->sentences;
  if (!job.diagnosed() || !IsUndecided(job)) return {};
  std::vector<std::string> sentences =
      job.gaps ? job.gaps->sentences : ContestedSentences(job.contested);
  if (job.ranks_seen < job.world_size)
    sentences.push_back(fmt::format("Only {} of {} ranks were seen in window {}, the newest.",
                                    job.ranks_seen, job.world_size, job.last_window));
  return sentences;
}

// What leaves a job undecided, or more.
std::vector<std::string> GapsOf(const KnownJob& job) {
  std::vector<std::string> sentences = MissingOf(job);
  if (job.failure) sentences.insert(sentences.begin(), FailureText(*job.failure, job.world_size));
  return sentences;
}

NoFindings OfOneJob(const KnownJobs& known, const std::string& name, const KnownJob& job,
                    const NoFindingsQuestion& question) {
  const std::string printable = Printable(name);
  NoFindings none{.text = {}, .reasons = LostSentences(known)};
  for (std::string& sentence : GapsOf(job)) none.reasons.push_back(std::move(sentence));
  if (!job.diagnosed()) {
    none.text = fmt::format("No findings of job {}: no window of it is diagnosed yet.", printable);
    return none;
  }
  none.is_healthy = known.lost.empty() && !IsUndecided(job);
  none.text = none.is_healthy ? Healthy(question, " in job " + printable, WindowReached(job))
                              : CannotTell(question, " for job " + printable, known.lost.empty());
  return none;
}

NoFindings OfAllJobs(const KnownJobs& known, const NoFindingsQuestion& question) {
  NoFindings none{.text = {}, .reasons = LostSentences(known)};
  none.reasons.insert(none.reasons.end(), known.gaps.sentences.begin(), known.gaps.sentences.end());
  bool any_diagnosed = false;
  bool is_undecided = !known.lost.empty();
  for (const auto& [name, job] : known.jobs) {
    for (const std::string& sentence : GapsOf(job))
      none.reasons.push_back(fmt::format("{}: {}", Printable(name), sentence));
    any_diagnosed = any_diagnosed || job.diagnosed();
    is_undecided = is_undecided || (job.diagnosed() && IsUndecided(job));
  }
  none.is_healthy = any_diagnosed && !is_undecided;
  if (!any_diagnosed) {
    none.text = "No findings: a node has run, and has diagnosed no window of any job yet.";
  } else if (none.is_healthy) {
    none.text = Healthy(
        question, "",
        fmt::format("{} jobs known, diagnosed: {}", known.jobs.size(), ListText(known.jobs)));
  } else {
    none.text = CannotTell(question, "", known.lost.empty());
  }
  return none;
}

}  // namespace

absl::StatusOr<KnownJobs> JobsOfStore(const StateStore& store) {
  KnownJobs known{.node_has_run = true};  // nobody else makes one
  for (const Table table : {Table::kProgress, Table::kJobs}) {
    const absl::Status scanned =
        store.Scan(table, "", [&](std::string_view key, std::string_view value) {
          if (const std::optional<std::string_view> row = WithoutTask(key))
            AddRow(table, *row, value, &known);
          return true;
        });
    if (!scanned.ok()) return scanned;
  }
  return known;
}

absl::StatusOr<KnownJobs> JobsOfChangelog(Log& log, const std::string& topic_prefix,
                                          std::chrono::milliseconds time) {
  constexpr size_t kRecordsMax = 1'000;
  constexpr std::chrono::milliseconds kPoll{100};
  const auto deadline = std::chrono::steady_clock::now() + time;
  KnownJobs known;
  const std::string topic = ChangelogTopic(topic_prefix, "diagnose");
  const absl::StatusOr<TopicSpec> spec = log.admin().DescribeTopic(topic);
  if (absl::IsNotFound(spec.status())) return known;
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  if (absl::Status status = (*consumer)->Subscribe({topic}, nullptr); !status.ok()) return status;
  std::vector<ConsumerRecord> records;
  const auto is_at_end = [&]() -> absl::StatusOr<bool> {
    for (int32_t partition = 0; partition < spec->partitions; ++partition) {
      const absl::StatusOr<int64_t> position = (*consumer)->Position({topic, partition});
      if (!position.ok()) return position.status();
      const absl::StatusOr<int64_t> end = (*consumer)->EndOffset({topic, partition});
      if (!end.ok()) return end.status();
      if (*position < *end) return false;
    }
    return true;
  };
  while (true) {
    records.clear();
    if (absl::Status status = (*consumer)->Poll(kPoll, kRecordsMax, &records); !status.ok())
      return status;
    for (const ConsumerRecord& record : records) {
      const std::optional<ChangelogEntry> entry = DecodeChangelogRecord(record);
      if (!entry) continue;
      known.node_has_run = true;
      if (entry->position || entry->chunk > 0) continue;
      const auto row = ParseRowName(entry->row);
      if (!row) continue;
      AddRow(row->first, row->second,
             entry->chunks == 0 ? std::nullopt : std::optional(entry->bytes), &known);
    }
    if (records.empty()) {
      const absl::StatusOr<bool> at_end = is_at_end();
      if (!at_end.ok()) return at_end.status();
      if (*at_end) return known;
    }
    if (std::chrono::steady_clock::now() < deadline) continue;
    known.is_whole = false;
    return known;
  }
}

NoFindings ExplainNoFindings(const KnownJobs& known, const NoFindingsQuestion& question) {
  if (!known.node_has_run && question.resolved > 0) {
    return {.text = fmt::format("Cannot tell: {}, and the state of the node that found them is not "
                                "here. Run `{}`.",
                                ResolvedText(question.resolved), Printable(question.node_command)),
            .reasons = {}};
  }
  if (!known.node_has_run) {
    return {.text = fmt::format("No findings: no node has run over {} yet. Run `{}`.",
                                Printable(question.source), Printable(question.node_command)),
            .reasons = {}};
  }
  const auto asked = question.job.empty() && known.jobs.size() == 1 ? known.jobs.begin()
                                                                    : known.jobs.find(question.job);
  if (asked != known.jobs.end()) return OfOneJob(known, asked->first, asked->second, question);
  if (question.job.empty()) return OfAllJobs(known, question);
  return {.text = UnknownJobText(known, question.job), .reasons = {}};
}

}  // namespace eroica
