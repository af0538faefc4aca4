#include "ops/cli/known_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

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
          .ended = newest->last_of_job};
}

// A row of a stage; value: nothing where it was deleted.
void AddRow(Table table, std::string_view key, std::optional<std::string_view> value,
            KnownJobs* known) {
  if (table == Table::kProgress) {
    if (const auto row = DecodeProgressKey(key); row && value)
      known->jobs.try_emplace(row->job.value);
    return;
  }
  if (table != Table::kJobs) return;
  const std::optional<JobId> job = DecodeJobKey(key);
  if (!job) return;
  if (value) {
    known->jobs[job->value] = ParseJob(*value);
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

std::string HealthyText(std::string_view name, const KnownJob& job) {
  const std::string time = LocalTimeText(job.end_ns);
  return fmt::format("Nothing found in job {}: diagnosed to window {}{}{}, {} of {} ranks seen.",
                     Printable(name), job.last_window, job.of_steps ? "" : " (of time)",
                     time.empty() ? "" : ", which ended at " + time, job.ranks_seen,
                     job.world_size);
}

std::string LostText(const std::string& what, const KnownJobs& known) {
  constexpr size_t kSentencesMost = 4;
  std::string text = what + ": ";
  for (size_t i = 0; i < std::min(known.lost.size(), kSentencesMost); ++i)
    text += (i == 0 ? "" : "; ") + Printable(known.lost[i]);
  if (known.lost.size() > kSentencesMost)
    text += fmt::format(", and of {} more partitions", known.lost.size() - kSentencesMost);
  return text + ".";
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

NoFindings ExplainNoFindings(const KnownJobs& known, std::string_view job, std::string_view source,
                             std::string_view node_command) {
  if (!known.node_has_run) {
    return {.text = fmt::format("No findings: no node has run over {} yet. Run `{}`.",
                                Printable(source), Printable(node_command)),
            .is_healthy = false};
  }
  const bool any_diagnosed =
      std::ranges::any_of(known.jobs, [](const auto& entry) { return entry.second.diagnosed(); });
  if (job.empty()) {
    if (!any_diagnosed)
      return {.text = "No findings: a node has run, and has diagnosed no window of any job yet.",
              .is_healthy = false};
    if (!known.lost.empty())
      return {.text = LostText("No finding, but the recording is not whole", known),
              .is_healthy = false};
    return {.text = fmt::format("Nothing found. {} job{} known, diagnosed: {}.", known.jobs.size(),
                                known.jobs.size() == 1 ? "" : "s", ListText(known.jobs)),
            .is_healthy = true};
  }
  const auto found = known.jobs.find(std::string(job));
  if (found == known.jobs.end()) return {.text = UnknownJobText(known, job), .is_healthy = false};
  if (!found->second.diagnosed())
    return {.text = fmt::format("No findings of job {}: no window of it is diagnosed yet.",
                                Printable(job)),
            .is_healthy = false};
  if (!known.lost.empty())
    return {.text = LostText(
                fmt::format("No finding of job {}, but the recording is not whole", Printable(job)),
                known),
            .is_healthy = false};
  return {.text = HealthyText(job, found->second), .is_healthy = true};
}

}  // namespace eroica
