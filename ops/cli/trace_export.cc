#include "ops/cli/trace_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "ops/cli/finding_text.h"
#include "producers/export/job_trace_file.h"
#include "schemas/codec.h"
#include "schemas/printable_text.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

constexpr size_t kJobsListed = 8;

// Both readings of the events, one after the other.
class EventReader {
 public:
  EventReader(const ExportRequest& request, const OpenReaders& readers)
      : request_(request), readers_(readers) {}

  // use: called with every batch of the job; what it answers ends the reading where it is no OK.
  absl::Status ReadAll(const std::function<absl::Status(const EventBatch&)>& use) {
    const absl::StatusOr<std::unique_ptr<SliceReader>> reader =
        SliceReader::Open(request_.events, {}, readers_);
    if (!reader.ok()) return reader.status();
    malformed_ = 0;
    while (true) {
      const absl::StatusOr<const ConsumerRecord*> next = (*reader)->Next();
      if (!next.ok()) return next.status();
      if (*next == nullptr) break;
      const ConsumerRecord record = (*reader)->Pop();
      if (absl::Status status = UseRecord(record, use); !status.ok()) return status;
      if (!request_.progress(done_ + (*reader)->done(), 2 * request_.events.size()))
        return absl::CancelledError("stopped before everything was exported");
    }
    done_ += request_.events.size();
    return absl::OkStatus();
  }

  uint64_t malformed() const { return malformed_; }

 private:
  absl::Status UseRecord(const ConsumerRecord& record,
                         const std::function<absl::Status(const EventBatch&)>& use) {
    if (TypeOf(record.payload()) != PayloadType::kEventBatch) return absl::OkStatus();
    if (decoder_.Decode(record.payload(), &batch_) != DropReason::kNone) {
      ++malformed_;
      return absl::OkStatus();
    }
    const bool wanted = (request_.job.empty() || batch_.identity.job.value == request_.job) &&
                        request_.ranks.Contains(batch_.identity.rank.value);
    return wanted ? use(batch_) : absl::OkStatus();
  }

  const ExportRequest& request_;
  const OpenReaders& readers_;
  Decoder decoder_;
  EventBatch batch_;
  uint64_t malformed_ = 0;
  int64_t done_ = 0;
};

std::string ListText(const std::set<std::string>& jobs) {
  std::string text;
  size_t listed = 0;
  for (const std::string& job : jobs) {
    if (listed++ == kJobsListed) return text + ", ...";
    text += (text.empty() ? "" : ", ") + Printable(job);
  }
  return text;
}

absl::Status CheckJobs(const std::set<std::string>& jobs, const ExportRequest& request) {
  if (jobs.size() == 1) return absl::OkStatus();
  if (!jobs.empty())
    return absl::FailedPreconditionError(
        fmt::format("which job? Give --job: there are {}", ListText(jobs)));
  return absl::NotFoundError(
      request.job.empty()
          ? "there are no events of these ranks: does the job summarize at the edge "
            "(capture level 1), or have its events left the log by its retention?"
          : fmt::format("there are no events of job {} and these ranks", Printable(request.job)));
}

std::vector<std::pair<std::string, std::string>> ArgsOf(const Finding& finding) {
  std::vector<std::pair<std::string, std::string>> args = {
      {"severity", std::string(ToString(finding.severity))},
      {"kind", std::string(ToString(finding.kind))},
      {"state", std::string(ToString(finding.state))},
      {"job", finding.job.value},
      {"id", finding.id},
      {"why", finding.explanation},
      {"next", finding.suggested_action},
      {"function", finding.function},
      {"stack", finding.stack}};
  for (const Measure& measure : finding.evidence)
    args.emplace_back("evidence: " + measure.name,
                      fmt::format("{}, peers {}", MeasureText(measure.culprit, measure.unit),
                                  MeasureText(measure.peers, measure.unit)));
  std::erase_if(args, [](const auto& arg) { return arg.second.empty(); });
  return args;
}

// On the ranks that it names; where none of them is in the trace, on the lowest that is.
absl::Status MarkFinding(const Finding& finding, JobTraceFile& trace) {
  const std::vector<uint32_t> ranks = trace.ranks();
  if (ranks.empty()) return absl::OkStatus();
  std::set<uint32_t> marked;
  for (const Culprit& culprit : finding.culprits) {
    const auto rank = static_cast<uint32_t>(culprit.rank);
    if (culprit.rank >= 0 && std::ranges::binary_search(ranks, rank)) marked.insert(rank);
  }
  if (marked.empty()) marked.insert(ranks.front());
  for (const uint32_t rank : marked) {
    if (absl::Status status = trace.AddFinding(rank, finding.title, ArgsOf(finding)); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExportOutcome> ExportTrace(const ExportRequest& request,
                                          const OpenReaders& readers) {
  EventReader events(request, readers);
  WindowSurvey survey(request.window, request.time_window_ns);
  std::set<std::string> jobs;
  const absl::Status surveyed = events.ReadAll([&](const EventBatch& batch) {
    if (jobs.size() <= kJobsListed) jobs.insert(batch.identity.job.value);
    survey.Add(batch);
    return absl::OkStatus();
  });
  if (!surveyed.ok()) return surveyed;
  if (absl::Status status = CheckJobs(jobs, request); !status.ok()) return status;
  std::map<uint32_t, TimeRange> ranges = survey.Ranges();
  if (ranges.empty())
    return absl::NotFoundError(
        fmt::format("none of these ranks has events in window {}",
                    request.window ? ToString(*request.window) : "of any kind"));
  const absl::StatusOr<std::unique_ptr<JobTraceFile>> trace = JobTraceFile::Create(
      request.file, {.ranks = std::move(ranges), .intervals_max = request.intervals_max});
  if (!trace.ok()) return trace.status();
  const absl::Status written =
      events.ReadAll([&](const EventBatch& batch) { return (*trace)->Add(batch); });
  if (!written.ok()) return written;
  if (request.finding && !(*trace)->ranks().empty()) {
    if (absl::Status status = MarkFinding(*request.finding, **trace); !status.ok()) return status;
  }
  if (absl::Status status = (*trace)->Finish(); !status.ok()) return status;
  return ExportOutcome{.job = *jobs.begin(),
                       .ranks = (*trace)->ranks(),
                       .intervals = (*trace)->intervals(),
                       .left_out = (*trace)->intervals_left_out(),
                       .malformed = events.malformed(),
                       .bytes = (*trace)->bytes()};
}

}  // namespace eroica
