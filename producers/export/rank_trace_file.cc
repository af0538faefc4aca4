#include "producers/export/rank_trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "producers/export/json_text.h"
#include "schemas/check.h"

namespace eroica {
namespace {

constexpr size_t kWorthAWrite = size_t{16} << 10;
// Times are relative to a moment this much before the first batch: batches may be a little out of
// order, and a trace has no time before its base.
constexpr int64_t kBeforeFirstNs = int64_t{60} * 1'000'000'000;

// Nothing where the batch tells of no moment.
std::optional<int64_t> FirstTimeNs(const EventBatch& batch) {
  std::optional<int64_t> first;
  if (batch.intervals.size() > 0) first = batch.intervals.start_ns.front();
  if (!batch.marks.empty())
    first = std::min(first.value_or(batch.marks.front().time_ns), batch.marks.front().time_ns);
  return first;
}

}  // namespace

absl::Status RankTraceFile::Add(const EventBatch& batch) {
  EROICA_CHECK(!finished_);
  const std::optional<int64_t> first_ns = FirstTimeNs(batch);
  if (!events_.has_begun())
    Begin(batch.identity, std::max<int64_t>(0, first_ns.value_or(0) - kBeforeFirstNs));
  if (first_ns && *first_ns < events_.base_ns()) {
    return absl::InvalidArgumentError(
        fmt::format("batch {} of rank {} lies more than a minute before the first one",
                    batch.sequence, events_.identity().rank.value));
  }
  events_.Add(batch);
  return events_.text().size() < kWorthAWrite ? absl::OkStatus() : Flush();
}

absl::Status RankTraceFile::Finish() {
  EROICA_CHECK(!finished_);
  finished_ = true;
  events_.CloseStep(std::numeric_limits<int64_t>::max());
  events_.text() += "\n],\n";
  events_.AppendDistributedInfo(&events_.text());
  events_.text() += "\n}\n";
  return Flush();
}

void RankTraceFile::Begin(const ProducerIdentity& identity, int64_t base_ns) {
  head_ = "{\"schemaVersion\":1,\"host_name\":";
  AppendJsonString(identity.host, &head_);
  fmt::format_to(std::back_inserter(head_),
                 ",\"baseTimeNanoseconds\":{},\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                 base_ns);
  events_.Begin(identity, base_ns);
}

absl::Status RankTraceFile::Flush() {
  const std::string text = std::exchange(head_, {}) + std::exchange(events_.text(), {});
  const auto close = [](std::FILE* file) { std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(
      std::fopen(path_.c_str(), created_ ? "ab" : "wb"), close);
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!written || std::fclose(file.release()) != 0) {
    return absl::UnavailableError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
  created_ = true;
  return absl::OkStatus();
}

}  // namespace eroica
