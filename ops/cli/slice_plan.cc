#include "ops/cli/slice_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ops/cli/time_text.h"
#include "ops/cli/wrapped_text.h"
#include "schemas/printable_text.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

// The next record of every partition from these offsets on.
absl::Status LookAt(const LogSlice& slice, const std::map<TopicPartition, int64_t>& positions,
                    const OpenReaders& readers, SlicePlan* plan) {
  LogSlice one_each;
  for (const auto& [partition, range] : slice.ranges) {
    const int64_t start = positions.at(partition);
    one_each.ranges[partition] = {start, std::min(start + 1, range.end)};
  }
  const absl::StatusOr<std::unique_ptr<SliceReader>> reader =
      SliceReader::Open(one_each, {}, readers);
  if (!reader.ok()) return reader.status();
  while (true) {
    const absl::StatusOr<const ConsumerRecord*> next = (*reader)->Next();
    if (!next.ok()) return next.status();
    if (*next == nullptr) return absl::OkStatus();
    const ConsumerRecord record = (*reader)->Pop();
    plan->first_ms = std::min(plan->first_ms.value_or(record.timestamp_ms), record.timestamp_ms);
    plan->last_ms = std::max(plan->last_ms.value_or(record.timestamp_ms), record.timestamp_ms);
    if (const auto job = FindHeader(record.headers, kHeaderJob)) plan->jobs.emplace(*job);
  }
}

std::string TimeCell(const std::optional<int64_t>& time_ms) {
  return time_ms ? TimeText(*time_ms) : "-";
}

std::string JobsText(const SlicePlan& plan) {
  constexpr size_t kJobsMax = 12;
  std::string text;
  size_t count = 0;
  for (const std::string& job : plan.jobs) {
    if (++count > kJobsMax) return text + fmt::format(" and {} more", plan.jobs.size() - kJobsMax);
    text += (count == 1 ? "" : ", ") + Printable(job);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

absl::StatusOr<SlicePlan> PlanSlice(const LogSlice& slice, const OpenReaders& readers) {
  SlicePlan plan{.slice = slice, .first_ms = {}, .last_ms = {}, .jobs = {}};
  std::map<TopicPartition, int64_t> starts;
  std::map<TopicPartition, int64_t> ends;
  for (const auto& [partition, range] : slice.ranges) {
    starts[partition] = range.start;
    ends[partition] = std::max(range.start, range.end - 1);
  }
  if (absl::Status status = LookAt(slice, starts, readers, &plan); !status.ok()) return status;
  if (absl::Status status = LookAt(slice, ends, readers, &plan); !status.ok()) return status;
  return plan;
}

std::string PlanText(const SlicePlan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"partition", "from offset", "to offset", "records"}};
  for (const auto& [partition, range] : plan.slice.ranges) {
    if (range.size() == 0) continue;
    rows.push_back({fmt::format("{}/{}", partition.topic, partition.partition),
                    fmt::format("{}", range.start), fmt::format("{}", range.end),
                    fmt::format("{}", range.size())});
  }
  std::string text = rows.size() > 1 ? AlignedColumns(rows) + "\n" : "";
  text += fmt::format("{} records in {} of {} partitions, of all jobs\n", plan.slice.size(),
                      rows.size() - 1, plan.slice.ranges.size());
  if (!plan.first_ms) return text;
  return text + fmt::format("from {} to {}, {}\njobs at the partitions' ends: {}\n",
                            TimeCell(plan.first_ms), TimeCell(plan.last_ms),
                            SpanText(*plan.last_ms - *plan.first_ms), JobsText(plan));
}

std::string PlanJson(const SlicePlan& plan) {
  Json partitions = Json::array();
  for (const auto& [partition, range] : plan.slice.ranges) {
    if (range.size() == 0) continue;
    partitions.push_back({{"topic", partition.topic},
                          {"partition", partition.partition},
                          {"from_offset", range.start},
                          {"to_offset", range.end}});
  }
  const auto time = [](const std::optional<int64_t>& ms) { return ms ? Json(*ms) : Json(); };
  const Json json{{"records", plan.slice.size()},
                  {"first_ms", time(plan.first_ms)},
                  {"last_ms", time(plan.last_ms)},
                  {"jobs_at_ends", plan.jobs},
                  {"partitions", std::move(partitions)}};
  return PrintableJson(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace eroica
