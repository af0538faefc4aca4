#include "producers/export/job_trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "producers/export/json_text.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<JobTraceFile>> JobTraceFile::Create(const std::string& path,
                                                                   JobTraceOptions options) {
  if (options.ranks.empty()) return absl::InvalidArgumentError("no rank is to be exported");
  absl::StatusOr<std::unique_ptr<TraceOutput>> output = TraceOutput::Create(path);
  if (!output.ok()) return output.status();
  return std::unique_ptr<JobTraceFile>(new JobTraceFile(std::move(options), *std::move(output)));
}

JobTraceFile::JobTraceFile(JobTraceOptions options, std::unique_ptr<TraceOutput> output)
    : options_(std::move(options)), output_(std::move(output)) {
  base_ns_ = std::numeric_limits<int64_t>::max();
  for (const auto& [rank, range] : options_.ranks) base_ns_ = std::min(base_ns_, range.begin_ns);
  base_ns_ = std::max<int64_t>(0, base_ns_);
}

absl::Status JobTraceFile::Add(const EventBatch& batch) {
  const auto range = options_.ranks.find(batch.identity.rank.value);
  if (range == options_.ranks.end()) return absl::OkStatus();
  const size_t wanted = IntervalsIn(batch, range->second);
  const auto known = ranks_.find(batch.identity.rank.value);
  const uint64_t taken = known == ranks_.end() ? 0 : known->second.intervals;
  const uint64_t share = std::max<uint64_t>(1, options_.intervals_max / options_.ranks.size());
  const uint64_t room =
      output_->bytes() >= options_.bytes_max || taken >= share ? 0 : share - taken;
  const EventBatch cut = CutBatch(batch, range->second, static_cast<size_t>(room));
  left_out_ += wanted - cut.intervals.size();
  if (cut.intervals.size() == 0 && cut.marks.empty()) return absl::OkStatus();
  if (ranks_.empty()) {
    if (absl::Status status = Begin(batch.identity.host); !status.ok()) return status;
  }
  OneRank& rank = RankOf(batch.identity);
  rank.intervals += cut.intervals.size();
  intervals_ += cut.intervals.size();
  rank.text.Add(cut);
  return Take(rank.text);
}

absl::Status JobTraceFile::Begin(const std::string& host) {
  std::string head = "{\"schemaVersion\":1,\"host_name\":";
  AppendJsonString(host, &head);
  fmt::format_to(std::back_inserter(head),
                 ",\"baseTimeNanoseconds\":{},\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                 base_ns_);
  return output_->Write(head);
}

JobTraceFile::OneRank& JobTraceFile::RankOf(const ProducerIdentity& identity) {
  const bool is_first = ranks_.empty();
  const auto [entry, added] = ranks_.try_emplace(identity.rank.value);
  OneRank& rank = entry->second;
  if (added) {
    rank.text.Begin(identity, base_ns_);
    if (!is_first) rank.text.text().insert(0, ",\n");
  }
  return rank;
}

absl::Status JobTraceFile::AddFinding(uint32_t rank, const std::string& title,
                                      std::vector<std::pair<std::string, std::string>> args) {
  const auto entry = ranks_.find(rank);
  if (entry == ranks_.end())
    return absl::NotFoundError(fmt::format("rank {} has no events in the file", rank));
  const TimeRange& range = options_.ranks.at(rank);
  entry->second.text.AddNote("finding", {.name = title,
                                         .start_ns = range.begin_ns,
                                         .duration_ns = range.end_ns - range.begin_ns,
                                         .args = std::move(args)});
  return Take(entry->second.text);
}

absl::Status JobTraceFile::Finish() {
  if (ranks_.empty()) {
    if (absl::Status status = Begin(""); !status.ok()) return status;
  }
  for (auto& [number, rank] : ranks_) {
    rank.text.CloseStep(options_.ranks.at(number).end_ns);
    if (absl::Status status = Take(rank.text); !status.ok()) return status;
  }
  std::string tail = "\n]";
  if (ranks_.size() == 1) {
    tail += ",\n";
    ranks_.begin()->second.text.AppendDistributedInfo(&tail);
  }
  if (absl::Status status = output_->Write(tail + "\n}\n"); !status.ok()) return status;
  return output_->Close();
}

absl::Status JobTraceFile::Take(RankTraceText& text) {
  return output_->Write(std::exchange(text.text(), {}));
}

std::vector<uint32_t> JobTraceFile::ranks() const {
  std::vector<uint32_t> numbers;
  for (const auto& [number, rank] : ranks_) numbers.push_back(number);
  return numbers;
}

}  // namespace eroica
