#include "producers/import/standing_end.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr int64_t kLeastNs = 500'000'000;
constexpr int64_t kAboutPart = 20;  // of the wait, by which the trace's end is uncertain

// Of the steps that ended but the last: that one holds the wait, if it ended at all.
std::vector<int64_t> StepDurations(const RankTrace& trace) {
  std::map<int64_t, int64_t> begins;
  std::map<int64_t, int64_t> durations;
  for (const Mark& mark : trace.marks) {
    if (mark.kind == MarkKind::kStepBegin) begins.emplace(mark.id, mark.time_ns);
  }
  for (const Mark& mark : trace.marks) {
    const auto begin = begins.find(mark.id);
    if (mark.kind == MarkKind::kStepEnd && begin != begins.end())
      durations[mark.id] = mark.time_ns - begin->second;
  }
  if (!durations.empty()) durations.erase(std::prev(durations.end()));
  std::vector<int64_t> of_steps;
  for (const auto& [id, duration] : durations) of_steps.push_back(duration);
  return of_steps;
}

// So many times the median, and twice the longest.
int64_t Beyond(std::vector<int64_t> durations, int64_t times) {
  if (durations.empty()) return 0;
  std::ranges::sort(durations);
  const int64_t most = kTraceTimeMaxNs / times;
  return std::max(times * std::min(most, durations[durations.size() / 2]),
                  2 * std::min(most, durations.back()));
}

int64_t Enough(const RankTrace& trace, const std::vector<CollectiveCall*>& ended) {
  constexpr int64_t kCollectives = 10;
  constexpr int64_t kSteps = 5;
  std::vector<int64_t> of_calls;
  for (const CollectiveCall* call : ended) of_calls.push_back(call->end_ns - call->start_ns);
  return std::max(
      {kLeastNs, Beyond(std::move(of_calls), kCollectives), Beyond(StepDurations(trace), kSteps)});
}

bool LastsToTheEnd(const RankTrace& trace, const CollectiveCall& call) {
  return trace.end_ns - call.end_ns <= (trace.end_ns - call.start_ns) / kAboutPart;
}

// No later than any time of a batch.
int64_t Absolute(const RankTrace& trace, int64_t time_ns) {
  const int64_t latest_ns = CodecLimits::kMaxTimeNs - trace.base_time_ns;
  return trace.base_time_ns + std::min(time_ns, std::max<int64_t>(0, latest_ns));
}

}  // namespace

CallsAtEnd SplitAtEnd(const RankTrace& trace, const std::vector<CollectiveCall*>& calls) {
  CallsAtEnd split;
  for (CollectiveCall* call : calls) (call->ran ? split.ended : split.standing).push_back(call);
  // Several may stand at once: gloo runs two, and each group on a device has a stream of its own.
  // What is usual is measured without them.
  const auto open =
      std::find_if_not(split.ended.rbegin(), split.ended.rend(), [&](const auto* call) {
        return LastsToTheEnd(trace, *call);
      }).base();
  const int64_t enough = Enough(trace, {split.ended.begin(), open});
  const auto is_endless = [&](const CollectiveCall* call) {
    return LastsToTheEnd(trace, *call) && trace.end_ns - call->start_ns >= enough;
  };
  const auto standing = std::find_if(open, split.ended.end(), is_endless);
  split.standing.insert(split.standing.begin(), standing, split.ended.end());
  split.ended.erase(standing, split.ended.end());
  split.endless = !split.standing.empty() && is_endless(split.standing.front());
  return split;
}

ProgressReport StandingReport(const RankTrace& trace) {
  ProgressReport report{.time_ns = Absolute(trace, trace.end_ns), .timed_out = true};
  std::map<std::tuple<uint16_t, CollectiveOperation>, OperationCount> operations;
  const auto count = [&](uint32_t communicator, CollectiveOperation operation) -> OperationCount& {
    OperationCount& row = operations[{static_cast<uint16_t>(communicator), operation}];
    row.communicator = static_cast<uint16_t>(communicator);
    row.operation = operation;
    return row;
  };
  for (const CollectiveCall& call : trace.collectives) {
    if (call.communicator == CollectiveCall::kUnmatched || IsPointToPoint(call.operation)) continue;
    OperationCount& row = count(call.communicator, call.operation);
    row.launched = row.completed = std::max(row.completed, call.sequence + 1);
  }
  for (const StandingCall& call : trace.standing) {
    OperationCount& row = count(call.communicator, call.operation);
    row.launched = std::max(row.launched, call.sequence + 1);
    if (report.in_flight.size() >= CodecLimits::kIntervals) continue;
    report.in_flight.push_back({.communicator = static_cast<uint16_t>(call.communicator),
                                .operation = call.operation,
                                .started = call.started,
                                .peer = -1,
                                .sequence = call.sequence,
                                .bytes = call.bytes,
                                .launched_ns = Absolute(trace, call.launched_ns)});
  }
  for (const auto& [unused, row] : operations) {
    if (report.operations.size() < CodecLimits::kIntervals) report.operations.push_back(row);
  }
  return report;
}

int64_t LastProgress(const RankTrace& trace) {
  int64_t last_ns = 0;
  for (const CollectiveCall& call : trace.collectives) {
    if (call.communicator != CollectiveCall::kUnmatched) last_ns = std::max(last_ns, call.end_ns);
  }
  return last_ns;
}

bool IsAtEnd(const RankTrace& trace, int64_t last_progress_ns, int64_t start_ns,
             int64_t duration_ns) {
  const int64_t since_ns = trace.end_ns - last_progress_ns;
  return duration_ns >= std::max(kLeastNs, since_ns / 2) &&
         trace.end_ns - (start_ns + duration_ns) <= since_ns / kAboutPart;
}

}  // namespace eroica
